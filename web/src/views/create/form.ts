/** The fields of a new counter. The usual ones are open, the others one click away. */

import { h, setText } from "../../dom";
import { usualSteps, type Values } from "../../draft";
import { number, parseDuration, span } from "../../format";
import { field, numberInput, select, textInput, type Field } from "../../ui/field";

const EVERY = [["1s", "Every second"], ["1m", "Every minute"], ["15m", "Every 15 minutes"], ["1h", "Every hour"], ["1d", "Every day"], ["other", "Another length…"], ["", "By hand"]] as const;

const MECHANISMS = [
  ["", "The most accurate that fits"], ["markov", "markov"], ["graded-square-root", "graded-square-root"], ["normalized-square-root", "normalized-square-root"], ["square-root", "square-root"],
  ["blt", "blt"], ["banded-square-root", "banded-square-root"], ["banded-inverse-square-root", "banded-inverse-square-root"], ["group-algebra", "group-algebra"],
  ["optimal", "optimal (short horizons)"], ["binary", "binary tree"], ["honaker-streaming", "honaker-streaming"], ["honaker-full", "honaker-full"], ["smooth-binary", "smooth-binary"],
  ["laplace-tree", "laplace-tree (pure)"], ["input-perturbation", "input-perturbation"], ["output-perturbation", "output-perturbation"],
] as const;

export interface CreateForm {
  element: HTMLElement;
  fields: Field[];
  population: Field<HTMLSelectElement>;
  values(): Values;
  /** Shows the fields that the choices need, and explains numbers in words. */
  describe(): void;
  setPopulations(choices: readonly (readonly [string, string])[], chosen: string): void;
  stepSeconds(): number | null;
  protect(whom: "event" | "person"): void;
  /** Fields that replace others, depending on the choices. */
  aliases(): Record<string, string>;
}

export function createForm(populations: readonly (readonly [string, string])[], chosen: string): CreateForm {
  const name = field("name", "Name", textInput("", { maxlength: 100, required: true, placeholder: "visits" }), "Letters, digits and the signs - _ . It cannot be changed later.");
  const description = field("description", "Description", textInput("", { maxlength: 500, placeholder: "Visits to the shop, all branches" }), "Optional.");
  const population = field("population", "Population", select(populations, chosen), "Whose privacy budget it draws on.");
  const every = field("every", "Releases", select(EVERY, "1h"));
  const everyOther = field("every_other", "Length of a step", textInput("6h"), "Such as 30s, 15m, 6h or 1d.");
  const steps = field("steps", "Number of steps", numberInput("8760", { inputmode: "numeric" }));
  const life = h("p", { class: "hint" });
  steps.element.insertBefore(life, steps.element.lastElementChild);
  const epsilon = field("epsilon", "ε", numberInput("1"), "Smaller protects more and adds more noise.");
  const delta = field("delta", "δ", numberInput("1e-6"), "0 for pure privacy.");
  const counted = field("counted", "What is added up", select([["events", "Events: each counts one"], ["values", "Values that events carry"], ["persons", "Different persons: each counts once"]]));
  const clamp = field("clamp", "Range of a value", textInput("0, 10"), "Values outside are cut to it. Choose it without looking at the data.");
  const keys = field("keys", "Keys", h("textarea", { attrs: { rows: 2, placeholder: "north, south, west", spellcheck: "false" } }), "One count for each, separated by commas or lines. “other” is added. Leave empty for one count.");
  const keySource = field("key_source", "Keys are", select([["declared", "Declared here"], ["found", "Found: a key appears once enough persons have it"]]), "Keys that are found need steps, persons, and a population with δ set aside for them.");
  const maxKeys = field("max_keys", "Keys a person may count in", numberInput("1", { inputmode: "numeric" }));
  const protect = field("protect", "Who is protected", select([["event", "One event"], ["person", "One person, in all their events"]]));
  const maxSteps = field("max_steps", "Steps a person may count in", numberInput("1", { inputmode: "numeric" }));
  const minGap = field("min_gap", "Steps between them, at least", numberInput("", { inputmode: "numeric" }), "Optional.");
  const workload = field("workload", "What is released", select([["prefix-sum", "Total since the start"], ["window", "Total of the last steps"], ["decay", "Decayed total"]]));
  const amount = field("workload_amount", "Steps in the window", numberInput("60"));
  const mechanism = field("mechanism", "Mechanism", select(MECHANISMS));
  const objective = field("objective", "Least", select([["", "mean error"], ["worst", "worst error"]]));
  const neighbours = field("neighbours", "Neighbours", select([["", "add or remove"], ["replace", "replace"]]));
  const start = field("start", "Start", textInput("", { type: "datetime-local" }), "Defaults to the last full step.");
  const grace = field("grace", "Wait for late events", textInput("", { placeholder: "none" }), "Such as 30s. Releases are delayed by this much.");
  const grid = field("grid", "Grid", numberInput("", { placeholder: "automatic" }), "Releases are multiples of it. 1 releases whole numbers.");
  const remember = field("remember_ids", "Remember event ids for", numberInput("", { placeholder: "automatic", inputmode: "numeric" }), "Steps.");

  const fields: Field[] = [name, description, population, every, everyOther, steps, epsilon, delta, counted, clamp, keySource, keys, maxKeys, protect, maxSteps, minGap, workload, amount, mechanism, objective, neighbours, start, grace, grid, remember];
  const row = (...parts: Field[]) => h("div", { class: "row-fields" }, ...parts.map((part) => part.element));
  const group = (legend: string, ...parts: HTMLElement[]) => h("fieldset", {}, h("legend", {}, legend), ...parts);

  const element = h("div", { class: "stack" },
    group("The counter", name.element, description.element),
    group("Privacy", population.element, row(epsilon, delta), protect.element, row(maxSteps, minGap)),
    group("Time", every.element, everyOther.element, steps.element),
    group("Contents", counted.element, clamp.element, keySource.element, keys.element, maxKeys.element),
    h("details", { class: "more" }, h("summary", {}, "More settings"),
      h("div", { class: "stack" }, workload.element, amount.element, mechanism.element, row(objective, neighbours), row(start, grace), row(grid, remember))));

  const length = () => (every.control.value === "other" ? everyOther.control.value : every.control.value);
  const stepSeconds = () => (every.control.value === "" ? null : parseDuration(length()));
  let touched = false;
  steps.control.addEventListener("input", () => (touched = true));

  function describe(): void {
    everyOther.element.hidden = every.control.value !== "other";
    clamp.element.hidden = counted.control.value !== "values";
    const persons = counted.control.value === "persons";
    keySource.element.hidden = persons;
    if (persons) keySource.control.value = "declared";
    keys.element.hidden = keySource.control.value === "found";
    maxKeys.element.hidden = !persons || keys.control.value.trim() === "";
    protect.element.hidden = persons;
    maxSteps.element.parentElement!.hidden = persons || protect.control.value !== "person";
    start.element.hidden = every.control.value === "";
    grace.element.hidden = every.control.value === "";
    amount.element.hidden = workload.control.value === "prefix-sum";
    setText(amount.element.querySelector("label")!, workload.control.value === "decay" ? "What a step keeps of the past" : "Steps in the window");
    const seconds = stepSeconds();
    const count = Number(steps.control.value.replaceAll(/[\s,_]/g, ""));
    setText(life, steps.control.value.trim() === "" ? "No known end: the error grows slowly forever." : seconds !== null && count > 0 ? `${number(count, 0)} steps are ${span(count * seconds)}. Leave empty for no known end.` : "Leave empty for no known end.");
  }
  every.control.addEventListener("change", () => {
    if (!touched) steps.control.value = String(usualSteps(length()) ?? "");
  });
  workload.control.addEventListener("change", () => (amount.control.value = workload.control.value === "decay" ? "0.99" : "60"));

  return {
    element, fields, population, describe, stepSeconds,
    protect: (whom) => {
      protect.control.value = whom;
    },
    aliases: () => ({
      every: every.control.value === "other" ? "every_other" : "every",
      workload: workload.control.value === "prefix-sum" ? "workload" : "workload_amount",
    }),
    values: () => Object.fromEntries(fields.map((each) => [each.name, each.control.value])) as unknown as Values,
    setPopulations(choices, selected) {
      population.control.replaceChildren(...choices.map(([id, label]) => h("option", { attrs: { value: id } }, label)));
      population.control.value = selected;
      population.control.dispatchEvent(new Event("change", { bubbles: true }));
    },
  };
}
