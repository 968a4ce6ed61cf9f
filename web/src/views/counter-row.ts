/** One counter as a row: its name, latest value and error, recent curve and next release. */

import { paths, serviceNow } from "../app";
import { sparkline } from "../chart/sparkline";
import { h, setText } from "../dom";
import { cadence, margin, parseDuration, plural, span } from "../format";
import { headline } from "../counter-list";
import { Curves } from "../series";
import type { Counter } from "../types";
import { statusChip, valueWithMargin } from "../ui/blocks";
import type { SparklineLoader } from "./sparkline-loader";

export interface Row {
  name: string;
  element: HTMLElement;
  update(counter: Counter): void;
  tick(now: number): void;
}

/** For how many seconds after a due time the page assumes that the release came. */
const STALE = 10;

/** Whether steps are long enough for a countdown. Shorter ones would only flicker. */
export function hasCountdown(every: string): boolean {
  return (parseDuration(every) ?? 0) >= 5;
}

/** When the next release comes, in words. Pure. */
export function nextWords(counter: Pick<Counter, "status" | "every" | "next_release">, now: number): string {
  if (counter.status === "retired") return "never";
  if (counter.status === "ended") return "ended";
  if (counter.status === "fenced") return "stopped";
  if (counter.every === null) return "by hand";
  if (!hasCountdown(counter.every)) return cadence(counter.every);
  if (counter.next_release === null) return "unknown";
  const step = parseDuration(counter.every) ?? 0;
  const left = (Date.parse(counter.next_release) - now) / 1000;
  // The counter may be a few seconds old, and its next step may have started since.
  const soon = left <= 0.5 && left > -STALE ? (left % step) + step : left;
  return soon <= 0.5 ? "now" : `in ${span(soon)}`;
}

export function counterRow(first: Counter, sparklines: SparklineLoader): Row {
  let counter = first;
  const curves = new Curves(200);
  const cell = (kind: string, label: string) => h("td", { class: kind, attrs: { role: "cell", "data-label": label } });
  const link = h("a", { attrs: { href: paths.counter(first.name) } }, first.name);
  const chip = h("span");
  const about = h("span", { class: "row-about" });
  const name = h("th", { class: "c-name", attrs: { role: "rowheader", scope: "row" } }, h("span", { class: "row-name" }, link, chip), about);
  const value = cell("c-value", "Latest");
  const picture = cell("c-spark", "");
  const next = cell("c-next", "Next release");
  const error = cell("c-error", "Standard error");
  const element = h("tr", { attrs: { role: "row", "data-name": first.name } }, name, value, picture, next, error);

  let drawn = "";
  const draw = () => {
    const key = headline(counter)?.key ?? null;
    const curve = curves.get(key);
    const mark = `${key} ${curve.at(-1)?.step} ${curve.length}`;
    if (mark === drawn) return;
    drawn = mark;
    picture.replaceChildren(sparkline(curve));
  };
  sparklines.watch(element, () => {
    const key = headline(counter)?.key;
    return { name: counter.name, nextStep: counter.next_step, key: key ?? undefined };
  }, (releases) => {
    curves.add(releases);
    draw();
  });

  let written = "";
  return {
    name: first.name,
    element,
    update(latest) {
      counter = latest;
      const top = headline(counter);
      const mark = JSON.stringify([counter.status, counter.description, top]);
      this.tick(serviceNow());
      if (mark === written) return;
      written = mark;
      chip.replaceChildren(...(counter.status === "running" ? [] : [statusChip(counter.status)]));
      setText(about, counter.description ?? `${cadence(counter.every)}, ${counter.population}`);
      if (top) {
        const others = (counter.latest?.length ?? 1) - 1;
        value.replaceChildren(valueWithMargin(top), h("span", { class: "row-key" }, top.key === null ? "" : others > 0 ? `${top.key}, and ${plural(others, "more key")}` : top.key));
      } else value.replaceChildren(h("span", { class: "nothing" }, "no release yet"));
      setText(error, counter.accuracy.now === null ? "–" : margin(counter.accuracy.now));
      if (curves.get(top?.key ?? null).length > 0 && counter.latest) {
        curves.add(counter.latest);
        draw();
      }
    },
    tick(now) {
      setText(next, nextWords(counter, now));
    },
  };
}
