/** The total between two moments. Its error is smaller than that of a difference of two releases. */

import type { App } from "../../app";
import { debounce, h } from "../../dom";
import { halfWidth, margin, moment, number } from "../../format";
import { stepsBetween } from "../../steps";
import { field, numberInput, textInput } from "../../ui/field";
import { problemBox, valueWithMargin } from "../../ui/blocks";
import type { Watched } from "../counter";

export interface SumPanel {
  element: HTMLElement;
  choose(first: number, last: number): void;
  clear(): void;
}

/** A moment in the format of an input for local times. */
function local(time: number): string {
  const date = new Date(time);
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** `told` receives each result in a few words, for the mark on the curve. */
export function sumPanel(app: App, watched: Watched, signal: AbortSignal, told: (words: string) => void): SumPanel | null {
  if (watched.counter.workload !== "prefix-sum") return null;
  const { every, start, name } = watched.counter;
  const clock = every !== null && start !== null && watched.stepSeconds !== null ? { start: Date.parse(start), width: watched.stepSeconds * 1000 } : null;

  const input = () => (clock ? textInput("", { type: "datetime-local", step: 1 }) : numberInput("", { inputmode: "numeric" }));
  const from = field("first", clock ? "From" : "From step", input());
  const to = field("last", clock ? "To" : "To step (included)", input());
  const result = h("div", { class: "sum-result", attrs: { role: "status" } });
  const element = h("div", {},
    h("p", { class: "guarantees" }, "Pick two moments, here or by dragging across the curve."),
    h("div", { class: "row-fields" }, from.element, to.element), result);

  let asked = 0;
  async function ask(first: number, last: number): Promise<void> {
    asked += 1;
    const mine = asked;
    try {
      const sum = await app.api.sum(name, { first, last, key: watched.key ?? undefined }, signal);
      if (mine !== asked) return;
      const when = clock ? `, ${moment(clock.start + first * clock.width)} to ${moment(clock.start + (last + 1) * clock.width)}` : "";
      told(`Marked: ${number(sum.value)} ± ${margin(halfWidth(sum))} in steps ${number(first, 0)} to ${number(last, 0)}.`);
      result.replaceChildren(
        h("p", { class: "figure figure-small" }, valueWithMargin(sum)),
        h("p", {}, `Steps ${number(first, 0)} to ${number(last, 0)}${when}. With probability 95 %, the true total between them is within ± ${margin(halfWidth(sum))}.`));
    } catch (cause) {
      if (!signal.aborted && mine === asked) result.replaceChildren(problemBox(cause));
    }
  }

  function typed(): void {
    from.fail(null);
    to.fail(null);
    const [a, b] = [from.control.value.trim(), to.control.value.trim()];
    if (a === "" || b === "") return;
    const steps = clock ? stepsBetween(Date.parse(a), Date.parse(b), clock) : { first: Number(a), last: Number(b) };
    if (!Number.isInteger(steps.first) || !Number.isInteger(steps.last)) return to.fail("Two step numbers are needed.");
    if (steps.last < steps.first) return to.fail(clock ? "No complete step lies between these moments." : "The second step comes before the first.");
    const newest = watched.counter.next_step - 1;
    if (newest < 0) return to.fail("Nothing is released yet.");
    if (steps.first > newest) return from.fail(`Only steps 0 to ${number(newest, 0)} are released.`);
    void ask(Math.max(0, steps.first), Math.min(steps.last, newest));
  }
  // The keyboard can mark many intervals in quick succession. Only the last one is requested.
  const later = debounce(150, (first: number, last: number) => void ask(first, last));
  const soon = debounce(300, typed);
  from.control.addEventListener("input", soon);
  to.control.addEventListener("input", soon);

  return {
    element,
    choose(first, last) {
      from.fail(null);
      to.fail(null);
      from.control.value = clock ? local(clock.start + first * clock.width) : String(first);
      to.control.value = clock ? local(clock.start + (last + 1) * clock.width) : String(last);
      later(first, last);
    },
    clear: () => {
      if (from.control.value !== "") typed();
    },
  };
}
