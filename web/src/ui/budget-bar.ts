/** The budget of a population and how much of it is spent, as a bar and in words. */

import { h } from "../dom";
import { parameter, percent } from "../format";
import type { Population } from "../types";

export type Shares = Record<"spent" | "planned" | "left", number>;

/**
 * Shares of the total by ρ, because ρ adds up over counters and ε does not. Pure totals may have no ρ;
 * their shares are by ε. Pure.
 */
export function shares(population: Pick<Population, "spent" | "left">, planned = 0): Shares {
  const total = population.spent.rho + population.left.rho;
  if (total > 0) {
    const share = Math.min(planned, population.left.rho) / total;
    return { spent: population.spent.rho / total, planned: share, left: population.left.rho / total - share };
  }
  const [spent, left] = [population.spent.epsilon ?? 0, population.left.epsilon ?? 0];
  return spent + left > 0 ? { spent: spent / (spent + left), planned: 0, left: left / (spent + left) } : { spent: 0, planned: 0, left: 0 };
}

export function budgetBar(population: Population, planned = 0): HTMLElement {
  const { spent, planned: share, left } = shares(population, planned);
  const part = (kind: string, size: number) => {
    const element = h("span", { class: `bar-part bar-${kind}` });
    element.style.setProperty("--share", String(size));
    return element;
  };
  const words = `${percent(spent)} spent, ${planned > 0 ? `${percent(share)} for this counter, ` : ""}${percent(left)} left`;
  return h("div", { class: "budget-bar" },
    h("div", { class: "bar", attrs: { role: "img", "aria-label": words } }, part("spent", spent), planned > 0 ? part("planned", share) : "", part("left", left)),
    h("p", { class: "bar-words" },
      h("span", {}, h("i", { class: "swatch swatch-spent" }), `spent ${percent(spent)}`),
      planned > 0 && h("span", {}, h("i", { class: "swatch swatch-planned" }), `this counter ${percent(share)}`),
      h("span", {}, h("i", { class: "swatch swatch-left" }), `left ${percent(left)}`)));
}

/** The spent and the remaining budget, in the units of the total. */
export function budgetWords(population: Population): string {
  const { total, spent, left } = population;
  const keys = total.key_delta > 0 ? ` Of δ for keys that are found, ${parameter(spent.key_delta)} of ${parameter(total.key_delta)} is spent.` : "";
  if (total.epsilon === null || total.delta === null) return `ρ ${parameter(spent.rho)} of ${parameter(total.rho ?? spent.rho + left.rho)} is spent, ${parameter(left.rho)} is left.${keys}`;
  const known = (value: number | null) => (value === null ? "an unknown part" : parameter(value));
  return `ε ${known(spent.epsilon)} of ${parameter(total.epsilon)} is spent, ${known(left.epsilon)} is left, ${total.delta === 0 ? "pure" : `at δ = ${parameter(total.delta)}`}.${keys}`;
}
