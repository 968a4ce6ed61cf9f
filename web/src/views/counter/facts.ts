/** The facts of a counter: its error and how it compares, who is protected, and its settings. */

import { paths } from "../../app";
import { h, setText, type Child } from "../../dom";
import { cadence, halfWidth, margin, moment, NORMAL_95, number, parameter, percentOver, span, times } from "../../format";
import type { Accuracy, Release } from "../../types";
import { facts, section } from "../../ui/blocks";
import { againstTree, guarantee, optimality, protection, quantity } from "../../guarantees";
import type { Watched } from "../counter";

/** Mean squared errors side by side, as multiples of this counter's. */
export function comparison(accuracy: Accuracy): HTMLElement | null {
  const tree = accuracy.binary_tree_over;
  const over = accuracy.over_optimum;
  const bars: { label: string; size: number; words: string; kind: string }[] = [];
  if (over !== null) bars.push({ label: "Least possible", size: 1 / over, words: over <= 1 ? "the same" : `at most ${percentOver(over)} less`, kind: "quiet" });
  bars.push({ label: "This counter", size: 1, words: "", kind: "accent" });
  if (tree !== null) bars.push({ label: "Binary tree", size: tree, words: `${times(tree)} times as much`, kind: "quiet" });
  if (bars.length < 2) return null;
  const longest = Math.max(...bars.map((bar) => bar.size));
  return h("figure", { class: "compare" },
    h("figcaption", {}, "Mean squared error"),
    ...bars.map((bar) => {
      const fill = h("span", { class: `compare-fill compare-${bar.kind}` });
      fill.style.setProperty("--share", String(bar.size / longest));
      return h("div", { class: "compare-row" }, h("span", { class: "compare-label" }, bar.label), h("span", { class: "compare-track", attrs: { "aria-hidden": "true" } }, fill), h("span", { class: "compare-words" }, bar.words));
    }));
}

export function accuracySentences(accuracy: Accuracy): HTMLElement | null {
  const lines = [optimality(accuracy), againstTree(accuracy)].filter((line) => line !== null);
  return lines.length === 0 ? null : h("ul", { class: "plain" }, ...lines.map((line) => h("li", {}, line)));
}

/** The 95 % margin in standard errors, from the latest release if any, because it depends on the noise. */
function width(budget: { delta: number }, release: Release | null): number | null {
  if (release && release.standard_error > 0) return halfWidth(release) / release.standard_error;
  return budget.delta === 0 ? null : NORMAL_95;
}

export function accuracyPanel(watched: Watched): { element: HTMLElement; update(release: Release | null): void } {
  const { accuracy, budget } = watched.counter;
  const list = h("dl", { class: "gauges" });
  let drawn = "";
  return {
    element: section("How accurate it is", list, accuracySentences(accuracy), comparison(accuracy)),
    update(release) {
      const factor = width(budget, release);
      const shown = (error: number) => `± ${margin(error * (factor ?? 1))}`;
      const worst = accuracy.worst === accuracy.at_horizon ? null : accuracy.worst;
      const entries = [[factor === null ? "Standard error now" : "95 % margin now", release?.standard_error ?? null], ["At the last step", accuracy.at_horizon], ["Mean over all steps", accuracy.rmse], ["Worst step", worst]] as const;
      const rows = entries.filter(([, error], index) => index === 0 || error !== null).map(([term, error]) => [term, error === null ? "–" : shown(error)] as const);
      const mark = JSON.stringify(rows);
      if (mark === drawn) return;
      drawn = mark;
      list.replaceChildren(...rows.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
    },
  };
}

export function protectionPanel(watched: Watched): HTMLElement {
  const { counter } = watched;
  return h("div", {}, h("p", { class: "guarantees" }, protection(counter)),
    h("p", { class: "hint" }, "The counter draws on the population ", h("a", { attrs: { href: paths.budget } }, counter.population), ` and costs it ρ = ${parameter(counter.rho)}.`));
}

export function factsPanel(watched: Watched): { element: HTMLElement; update(): void } {
  const steps = h("span");
  const { counter, stepSeconds } = watched;
  const optional = (name: string, value: Child): [string, Child][] => (value === null || value === undefined || value === "" ? [] : [[name, value]]);
  const life = counter.steps === null ? "no known end" : number(counter.steps, 0) + (stepSeconds === null ? "" : ` (${span(counter.steps * stepSeconds)})`);
  const element = facts([
    ["Budget", guarantee(counter.budget)],
    ["Mechanism", counter.mechanism],
    ["Releases", `${cadence(counter.every)}: the ${quantity(counter)}`],
    ["Steps", steps],
    ...optional("Start", counter.start && moment(counter.start)),
    ...optional("Late events", counter.grace && `accepted for ${counter.grace} after their step`),
    ...optional("Values", counter.clamp && `cut to between ${number(counter.clamp[0])} and ${number(counter.clamp[1])}`),
    ...optional("Grid", counter.grid && number(counter.grid, 10)),
    ...optional("Keys", counter.discover === null ? counter.keys && number(counter.keys.length, 0) : `found at ${number(counter.discover.first_threshold, 0)} persons, or ${number(counter.discover.last_threshold, 0)} at the last step`),
    ...optional("δ for keys", counter.discover && parameter(counter.discover.key_delta)),
    ["Neighbours", counter.neighbours],
    ["Objective", counter.objective],
    ["Arithmetic", counter.arithmetic],
    ...optional("Event ids remembered", counter.remember_ids && `${number(counter.remember_ids, 0)} steps`),
    ["Created", moment(counter.created)],
    ["Epoch", number(counter.epoch, 0)],
  ]);
  return { element, update: () => setText(steps, `${number(watched.counter.next_step, 0)} released of ${life}`) };
}
