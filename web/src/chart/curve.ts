/** The curve of one key with its 95 % band. Dragging or Shift with arrows marks an interval; arrows move. */

import uPlot from "uplot";
import { h } from "../dom";
import type { Release } from "../types";
import { attend, axes, palette } from "./axes";

interface Listener {
  /** The release under the cursor, or null when nothing is pointed at. */
  onPoint(release: Release | null): void;
  onInterval(first: Release, last: Release): void;
}

export interface Curve {
  element: HTMLElement;
  show(releases: readonly Release[], label: string): void;
}

export function curve(byTime: boolean, listener: Listener, signal: AbortSignal): Curve {
  const box = h("div", { class: "curve", attrs: { tabindex: 0, role: "group", "aria-roledescription": "chart" } });
  let shown: readonly Release[] = [];
  let colours = palette();
  let at: number | null = null;
  let anchor: number | null = null;
  /** The step that the keyboard points at. It stays while new steps arrive. */
  let held: number | null = null;
  /** The ends of the marked interval, on the horizontal scale. */
  let marked: [number, number] | null = null;

  const position = (release: Release) => (byTime && release.time !== null ? Date.parse(release.time) / 1000 : release.step);
  const height = () => (box.clientWidth < 560 ? 240 : 340);

  const plot = new uPlot(
    {
      width: 600,
      height: 340,
      padding: [12, 10, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false, setScale: false, dist: 6 }, points: { size: 9, width: 2, stroke: () => colours.accent, fill: () => colours.accent } },
      scales: {
        x: { time: byTime, range: (self, low, high) => {
          const only = self.data[0].length === 1 ? self.data[0][0]! : null;
          return only === null ? [low, high] : [only - 1, only + 1];
        } },
        y: { range: (_plot, low, high) => (low === null ? [0, 1] : uPlot.rangeNum(low, high, 0.08, false)) },
      },
      axes: axes(() => colours, byTime),
      series: [
        {},
        // The edges are drawn too, so that a narrow band stays visible.
        { stroke: () => colours.band, width: 1, points: { show: false } },
        { stroke: () => colours.band, width: 1, points: { show: false } },
        { stroke: () => colours.accent, width: 1.75, points: { show: (self) => self.data[0].length < 24, size: 5, fill: () => colours.accent } },
      ],
      bands: [{ series: [1, 2], fill: () => colours.band }],
      focus: { alpha: 1 },
      hooks: {
        draw: [newest],
        setCursor: [(self) => point(self.cursor.idx ?? null)],
        setSelect: [
          (self) => {
            if (self.select.width < 6) return;
            const [from, to] = [self.posToIdx(self.select.left), self.posToIdx(self.select.left + self.select.width)];
            mark(from, to);
          },
        ],
        setSize: [() => place()],
      },
    },
    [[], [], [], []],
    box,
  );
  /** Marks the newest release: a dot, and its 95 % interval as a bar. */
  function newest(self: uPlot): void {
    const last = self.data[0].length - 1;
    if (last < 0) return;
    const { ctx } = self;
    const unit = devicePixelRatio;
    const x = self.valToPos(self.data[0][last]!, "x", true);
    const [upper, lower, value] = [1, 2, 3].map((series) => self.valToPos(self.data[series]![last]!, "y", true)) as [number, number, number];
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colours.accent;
    ctx.lineWidth = 1.5 * unit;
    ctx.beginPath();
    ctx.moveTo(x, upper);
    ctx.lineTo(x, lower);
    for (const end of [upper, lower]) {
      ctx.moveTo(x - 4 * unit, end);
      ctx.lineTo(x + 4 * unit, end);
    }
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(x, value, 4 * unit, 0, 2 * Math.PI);
    ctx.fill();
    ctx.restore();
  }

  function point(index: number | null): void {
    at = index;
    listener.onPoint(index === null ? null : (shown[index] ?? null));
  }

  /** Marks an interval, and reports it to the listener. */
  function mark(first: number, last: number): void {
    const [from, to] = [shown[Math.min(first, last)], shown[Math.max(first, last)]];
    if (!from || !to || from === to) return;
    marked = [position(from), position(to)];
    place();
    listener.onInterval(from, to);
  }

  /** Places the mark again, because the curve moves below it. */
  function place(): void {
    const ends = marked?.map((end) => Math.max(0, Math.min(plot.over.clientWidth, plot.valToPos(end, "x")))) ?? [0, 0];
    const width = ends[1]! - ends[0]!;
    plot.setSelect({ left: ends[0]!, width, top: 0, height: width > 0 ? plot.over.clientHeight : 0 }, false);
  }

  function moveTo(index: number, extend: boolean): void {
    const target = Math.max(0, Math.min(shown.length - 1, index));
    const release = shown[target];
    if (!release) return;
    if (extend) anchor ??= shown[at ?? target]!.step;
    else anchor = null;
    held = release.step;
    plot.setCursor({ left: plot.valToPos(position(release), "x"), top: 20 });
    if (anchor !== null) mark(shown.findIndex((each) => each.step === anchor), target);
  }

  function letGo(): void {
    held = null;
    anchor = null;
    plot.setCursor({ left: -10, top: -10 });
  }

  box.addEventListener("keydown", (event) => {
    const last = shown.length - 1;
    const here = at ?? last;
    const stride = event.ctrlKey ? 10 : 1;
    const moves: Record<string, number> = { ArrowLeft: here - stride, ArrowRight: here + stride, Home: 0, End: last };
    const target = moves[event.key];
    if (target !== undefined) {
      event.preventDefault();
      moveTo(target, event.shiftKey);
    } else if (event.key === "Escape") {
      marked = null;
      place();
      letGo();
    }
  });
  box.addEventListener("blur", letGo);
  plot.over.addEventListener("mousemove", () => (held = null));

  attend(plot, box, height, () => (colours = palette()), signal);

  return {
    element: box,
    show(releases, label) {
      shown = releases;
      box.setAttribute("aria-label", label);
      plot.setData([releases.map(position), releases.map((r) => r.upper), releases.map((r) => r.lower), releases.map((r) => r.value)]);
      if (marked) place();
      const again = held === null ? -1 : releases.findIndex((release) => release.step >= held!);
      if (again >= 0) plot.setCursor({ left: plot.valToPos(position(releases[again]!), "x"), top: 20 });
    },
  };
}
