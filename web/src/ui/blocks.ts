/** Blocks that several views show: statuses, values, problems, empty states, sections and facts. */

import { h, s, type Child } from "../dom";
import { halfWidth, margin, number } from "../format";
import { sentence } from "../problem";
import type { CounterStatus, Release } from "../types";
import { button } from "./button";

const STATUS_WORDS: Record<CounterStatus, string> = {
  running: "Running",
  fenced: "Fenced",
  retired: "Retired",
  ended: "Ended",
};

export function statusChip(status: CounterStatus): HTMLElement {
  return h("span", { class: `chip chip-${status}` }, STATUS_WORDS[status] ?? status);
}

/** A value and its 95 % margin, the margin quieter. */
export function valueWithMargin(release: Pick<Release, "value" | "lower" | "upper">): HTMLElement {
  return h("span", { class: "value" }, number(release.value), h("span", { class: "margin" }, ` ± ${margin(halfWidth(release))}`));
}

/** A failure as a sentence, with a button to try again. */
export function problemBox(cause: unknown, retry?: () => void): HTMLElement {
  return h("div", { class: "notice notice-bad", attrs: { role: "alert" } }, h("p", {}, sentence(cause)), retry && button("Try again", retry));
}

/** Shown in an empty place: says what belongs there, and how to get it. */
export function emptyState(title: string, ...children: Child[]): HTMLElement {
  return h("div", { class: "empty" }, tally(), h("h2", {}, title), ...children);
}

/** Tally marks, the sign of the page. */
export function tally(): SVGSVGElement {
  return s("svg", { class: "tally", viewBox: "4 6.5 24 19", "aria-hidden": "true" },
    s("path", { d: "M8 8.5v15M13.3 8.5v15M18.7 8.5v15M24 8.5v15M5 21.5 27 10.5" }));
}

/** A section of a sheet: its title at the side, its content beside it. */
export function section(title: string, ...children: Child[]): HTMLElement {
  const heading = h("h2", {}, title);
  return h("section", { class: "section" }, heading, h("div", { class: "section-body" }, ...children));
}

/** Names and what they stand for. */
export function facts(entries: readonly (readonly [string, Child])[]): HTMLElement {
  return h("dl", { class: "facts" }, ...entries.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}
