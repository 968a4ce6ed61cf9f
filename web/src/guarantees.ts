/** The guarantees of a counter, as sentences. Pure. */

import { halfWidth, margin, number, parameter, percentOver, times } from "./format";
import type { Accuracy, Counter, Discovery, Release } from "./types";

type Described = Pick<Counter, "workload" | "keys" | "clamp" | "distinct">;

/** What a release estimates: the total, the total of a window, or a decayed total. */
export function quantity(counter: Described): string {
  if (counter.distinct !== null) return "number of different persons";
  const [kind, amount] = counter.workload.split(":");
  if (kind === "window") return `total of the last ${number(Number(amount), 0)} steps`;
  if (kind === "decay") return `decayed total (each step keeps ${amount} of the past)`;
  return "total";
}

/** "With probability 95 %, the true total is within ± 24 of what is shown." */
export function promise(counter: Described, release: Release): string {
  const key = release.key === null ? "" : ` of “${release.key}”`;
  return `With probability 95 %, the true ${quantity(counter)}${key} is within ± ${margin(halfWidth(release))} of what is shown.`;
}

/** What a counter shows that has found no key. */
export function noKeyYet(discover: Discovery): string {
  return `No key has appeared yet. A key appears once its private count of persons reaches ${number(discover.first_threshold, 0)}, or ${number(discover.last_threshold, 0)} at the last step.`;
}

/** What nobody can learn from all releases together. */
export function protection(counter: Pick<Counter, "unit" | "neighbours" | "participation" | "budget" | "keys" | "distinct" | "discover">): string {
  const { unit, participation, budget, distinct, discover } = counter;
  const who = `any one ${unit}`;
  const what =
    counter.neighbours === "replace"
      ? `whether ${who} is itself or another admissible one`
      : participation
        ? `whether ${who} took part at all`
        : `whether ${who} is in the data at all`;
  const bound = distinct !== null
    ? ` One ${unit} counts once${distinct > 1 ? `, in each of at most ${number(distinct, 0)} keys` : ""}.`
    : participation
    ? ` One ${unit} counts in at most ${number(participation.max_steps, 0)} ${participation.max_steps === 1 ? "step" : "steps"}` +
      (participation.min_gap > 1 && participation.max_steps > 1 ? `, at least ${number(participation.min_gap, 0)} apart` : "") +
      "; what exceeds this is not counted."
    : "";
  const all = counter.keys ? "all steps and all keys together" : "all steps together";
  return `Even with every release, nobody can reliably tell ${what}: ${guarantee(budget)}, ${all}.${bound}${discover === null ? "" : " Which keys appear is part of this; a key that has not appeared leaves no trace."}`;
}

export function guarantee(budget: { epsilon: number; delta: number }): string {
  const epsilon = `ε = ${parameter(budget.epsilon)}`;
  return budget.delta === 0 ? `${epsilon}, pure` : `${epsilon}, δ = ${parameter(budget.delta)}`;
}

/** How far the error is from the least possible. Null when nothing is proved for this plan. */
export function optimality(accuracy: Accuracy): string | null {
  if (accuracy.over_optimum === null) return null;
  if (accuracy.over_optimum <= 1) return "No mechanism can have less mean squared error.";
  if (accuracy.over_optimum >= 2) return `At most ${number(accuracy.over_optimum, 2)} times the mean squared error that the best mechanism could have.`;
  return `At most ${percentOver(accuracy.over_optimum)} more squared error than any mechanism can have.`;
}

export function againstTree(accuracy: Accuracy): string | null {
  const ratio = accuracy.binary_tree_over;
  if (ratio === null) return null;
  if (ratio < 1) return `${times(1 / ratio)} times more squared error than the binary tree.`;
  if (ratio < 1.05) return "About the squared error of the binary tree.";
  return `${times(ratio)} times less squared error than the binary tree.`;
}

/** A command that posts one event, ready for a terminal. */
export function curl(origin: string, counter: Pick<Counter, "name" | "keys" | "participation" | "clamp">): string {
  const event: Record<string, unknown> = { id: "order-4711" };
  if (counter.keys) event["key"] = counter.keys[0] ?? "any-key";
  if (counter.participation) event["person"] = "customer-42";
  if (counter.clamp) event["value"] = counter.clamp[1];
  const body = JSON.stringify(event).replaceAll("'", "'\\''");
  return [
    `curl ${origin}/v1/counters/${encodeURIComponent(counter.name)}/events \\`,
    `  -H "Authorization: Bearer $EVERTALLY_TOKEN" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ].join("\n");
}
