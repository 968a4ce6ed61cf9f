/** The curve, the range that is shown, and a line that reads out single releases. */

import type { App } from "../../app";
import { curve } from "../../chart/curve";
import { h, setText } from "../../dom";
import { bounds, halfWidth, margin, moment, number } from "../../format";
import { firstRange, ranges, rangeStart } from "../../series";
import type { Release } from "../../types";
import { problemBox } from "../../ui/blocks";
import { quantity } from "../../guarantees";
import type { Watched } from "../counter";

export interface CurvePanel {
  element: HTMLElement;
  /** Loads the chosen range. */
  load(): Promise<void>;
  /** Shows new releases. */
  update(): void;
  /** Shows the total of the marked interval. */
  measured(words: string): void;
}

const POINTS = 600;

export function readOut(release: Release): string {
  const when = release.time === null ? "" : `, ${moment(release.time)}`;
  const { lower, upper } = bounds(release);
  return `Step ${number(release.step, 0)}${when}: ${number(release.value)} ± ${margin(halfWidth(release))}, between ${lower} and ${upper}`;
}

export function curvePanel(app: App, watched: Watched, signal: AbortSignal, onInterval: (first: number, last: number) => void): CurvePanel {
  const { counter } = watched;
  const name = counter.name;
  let range = firstRange(ranges(watched.stepSeconds, counter.next_step), counter.next_step, watched.stepSeconds);
  let pointed: Release | null = null;
  let missing = 0;

  const measurable = counter.workload === "prefix-sum";
  const reading = h("output", { class: "reading", attrs: { "aria-live": "polite" } });
  const hint = h("p", { class: "hint curve-hint", attrs: { "aria-live": "polite" } },
    measurable ? "Drag across the curve to measure an interval. With the keyboard: arrows move, Shift and arrows measure." : "Point at the curve, or move with the arrow keys, to read it.");
  const chart = curve(counter.every !== null, {
    onPoint(release) {
      pointed = release;
      read();
    },
    onInterval: (first, last) => onInterval(first.step, last.step),
  }, signal);
  const buttons = h("div", { class: "segments", attrs: { role: "group", "aria-label": "Range" } });
  const trouble = h("div");
  const nothing = h("p", { class: "curve-empty", attrs: { hidden: true } }, "The curve begins with the first release.");
  const element = h("section", { class: "curve-panel", attrs: { "aria-label": "Curve" } },
    h("div", { class: "curve-bar" }, reading, buttons), trouble, h("div", { class: "curve-box" }, chart.element, nothing), hint);

  function choices(): void {
    const offered = ranges(watched.stepSeconds, watched.counter.next_step);
    if (offered.length === buttons.children.length) return;
    buttons.hidden = offered.length < 2;
    buttons.replaceChildren(...offered.map(({ id, label }) => h("button", { attrs: { type: "button", "aria-pressed": String(id === range), "data-range": id }, on: { click: () => {
      range = id;
      for (const each of buttons.children) each.setAttribute("aria-pressed", String(each.getAttribute("data-range") === id));
      void load();
    } } }, label)));
  }

  function shown(): Release[] {
    const first = rangeStart(range, watched.counter.next_step, watched.stepSeconds);
    return watched.curves.get(watched.key).filter((release) => release.step >= first);
  }

  function read(): void {
    const release = pointed ?? watched.curves.get(watched.key).at(-1);
    setText(reading, release ? readOut(release) : "");
    // Screen readers hear the release that is pointed at, and not every new one.
    reading.setAttribute("aria-live", pointed ? "polite" : "off");
  }

  function update(): void {
    choices();
    const releases = shown();
    const key = watched.key === null ? "" : `, key ${watched.key}`;
    chart.show(releases, `Released ${quantity(watched.counter)}${key} with its 95 % band, ${number(releases.length, 0)} points. Arrow keys read single releases; the same figures are in the table below.`);
    nothing.hidden = releases.length > 0;
    read();
  }

  async function load(): Promise<void> {
    missing += 1;
    const mine = missing;
    trouble.replaceChildren();
    update();
    if (watched.counter.next_step === 0) return;
    try {
      const first = rangeStart(range, watched.counter.next_step, watched.stepSeconds);
      const page = await app.api.releases(name, { first, points: POINTS, key: watched.key ?? undefined }, signal);
      if (mine !== missing || signal.aborted) return;
      // Releases that arrived live in the meantime stay. They are at most a few steps.
      const live = watched.curves.get(watched.key).slice(-50);
      watched.curves.clear();
      watched.curves.add(page.releases);
      watched.curves.add(live.filter((release) => release.step > (page.releases.at(-1)?.step ?? -1)));
      update();
    } catch (cause) {
      if (!signal.aborted && mine === missing) trouble.replaceChildren(problemBox(cause, () => void load()));
    }
  }

  return { element, load, update, measured: (words) => setText(hint, words) };
}
