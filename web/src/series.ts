/** The points of a curve. Their number stays small, for as long as the page is open. Pure. */

import type { Release } from "./types";

/** At most `limit` of the releases, evenly spaced by step, always with the first and the last. */
export function thin(releases: readonly Release[], limit: number): Release[] {
  if (releases.length <= limit) return [...releases];
  const first = releases[0]!;
  const last = releases.at(-1)!;
  if (limit < 2) return [last];
  const width = (last.step - first.step) / (limit - 1);
  const kept: Release[] = [first];
  let slot = 1;
  for (const release of releases.slice(1, -1)) {
    if (release.step < first.step + slot * width || kept.length >= limit - 1) continue;
    kept.push(release);
    slot = Math.floor((release.step - first.step) / width) + 1;
  }
  kept.push(last);
  return kept;
}

/**
 * Curves by key, each in the order of steps. Releases never change, so a step that arrives twice (after a
 * lost connection) is kept once.
 */
export class Curves {
  #byKey = new Map<string | null, Release[]>();

  constructor(private readonly limit = 1200) {}

  add(releases: readonly Release[]): void {
    for (const release of releases) {
      let curve = this.#byKey.get(release.key);
      if (!curve) this.#byKey.set(release.key, (curve = []));
      const last = curve.at(-1);
      if (!last || last.step < release.step) curve.push(release);
      else if (!curve.some((known) => known.step === release.step)) {
        const at = curve.findIndex((known) => known.step > release.step);
        curve.splice(at, 0, release);
      }
      if (curve.length > this.limit) this.#byKey.set(release.key, thin(curve, Math.ceil(this.limit / 2)));
    }
  }

  clear(): void {
    this.#byKey.clear();
  }

  get(key: string | null): readonly Release[] {
    return this.#byKey.get(key) ?? [];
  }
}

/** The first step of a range, given the number of released steps. */
export function rangeStart(range: string, nextStep: number, stepSeconds: number | null): number {
  if (range === "all" || nextStep === 0) return 0;
  const [kind, amount] = range.split(":");
  const count = kind === "seconds" && stepSeconds ? Math.ceil(Number(amount) / stepSeconds) : Number(amount);
  return Math.max(0, nextStep - count);
}

export interface RangeChoice {
  id: string;
  label: string;
}

/** The ranges to offer: by time with a clock, else by steps, and none longer than what is released. */
export function ranges(stepSeconds: number | null, released: number): RangeChoice[] {
  const all = { id: "all", label: "All" };
  const choices: [number, RangeChoice][] = stepSeconds
    ? ([[60, "1 min"], [300, "5 min"], [3600, "1 h"], [86_400, "1 d"], [604_800, "1 w"], [2_592_000, "30 d"], [31_536_000, "1 y"]] as const).map(
        ([seconds, label]) => [seconds / stepSeconds, { id: `seconds:${seconds}`, label }],
      )
    : [100, 1000, 10_000].map((steps) => [steps, { id: `steps:${steps}`, label: `${steps.toLocaleString("en")} steps` }]);
  const offered = choices.filter(([steps]) => steps >= 20 && steps < released).map(([, choice]) => choice);
  return [...offered, all];
}

/**
 * The range that is shown first: the longest with at most 400 steps, because over thousands of steps the
 * band is thinner than a line.
 */
export function firstRange(offered: readonly RangeChoice[], nextStep: number, stepSeconds: number | null): string {
  const short = offered.filter(({ id }) => nextStep - rangeStart(id, nextStep, stepSeconds) <= 400);
  return (short.at(-1) ?? offered[0])?.id ?? "all";
}
