/** The curve of one key with its 95 % band. Dragging, or Shift with the arrows, marks an interval; arrows alone move the read-out. */

import uPlot from "uplot";
import { h } from "../dom";
import type { Release } from "../types";
import { attend, axes, palette } from "./base";

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
        x: { time: byTime, range: (_plot, low, high) => (low === high ? [low - 1, high + 1] : [low, high]) },
        y: { range: (_plot, low, high) => (low === null ? [0, 1] : uPlot.rangeNum(low, high, 0.08, false)) },
      },
      axes: axes(() => colours, byTime),
      series: [
        {},
        // The edges are drawn too, so that a narrow band is still seen.
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
            const first = self.posToIdx(self.select.left);
            const last = self.posToIdx(self.select.left + self.select.width);
            interval(first, last);
          },
        ],
      },
    },
    [[], [], [], []],
    box,
  );
  // The cursor's dots on the two edges of the band would only distract.
  plot.root.classList.add("curve-plot");

  /** Marks the newest release with a dot. */
  function newest(self: uPlot): void {
    const last = self.data[0].length - 1;
    if (last < 0) return;
    const { ctx } = self;
    ctx.save();
    ctx.fillStyle = colours.accent;
    ctx.beginPath();
    ctx.arc(self.valToPos(self.data[0][last]!, "x", true), self.valToPos(self.data[3]![last]!, "y", true), 4 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.restore();
  }

  function point(index: number | null): void {
    at = index;
    listener.onPoint(index === null ? null : (shown[index] ?? null));
  }

  function interval(first: number, last: number): void {
    const [from, to] = [shown[Math.min(first, last)], shown[Math.max(first, last)]];
    if (from && to && from !== to) listener.onInterval(from, to);
  }

  function moveTo(index: number, extend: boolean): void {
    const target = Math.max(0, Math.min(shown.length - 1, index));
    const release = shown[target];
    if (!release) return;
    if (extend) anchor ??= at ?? target;
    else anchor = null;
    const left = plot.valToPos(position(release), "x");
    plot.setCursor({ left, top: 20 });
    if (anchor !== null && shown[anchor]) {
      const start = plot.valToPos(position(shown[anchor]!), "x");
      plot.setSelect({ left: Math.min(start, left), width: Math.abs(left - start), top: 0, height: plot.over.clientHeight }, false);
      interval(anchor, target);
    }
    at = target;
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
      anchor = null;
      plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      plot.setCursor({ left: -10, top: -10 });
    }
  });
  box.addEventListener("blur", () => plot.setCursor({ left: -10, top: -10 }));

  attend(plot, box, height, () => (colours = palette()), signal);

  return {
    element: box,
    show(releases, label) {
      shown = releases;
      box.setAttribute("aria-label", label);
      plot.setData([releases.map(position), releases.map((r) => r.upper), releases.map((r) => r.lower), releases.map((r) => r.value)]);
    },
  };
}
