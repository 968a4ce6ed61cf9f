/** A new population, on the budget page and inside the form of a counter. */

import type { App } from "../app";
import { h } from "../dom";
import type { PopulationDraft } from "../types";
import { clearProblems, field, numberInput, placeProblem, select, textInput } from "../ui/field";
import { problemBox } from "../ui/blocks";
import { onSubmit } from "../ui/button";

export interface PopulationFields {
  element: HTMLElement;
  unit(): string;
  /** The values, or null after showing the mistakes beside their fields. */
  read(): PopulationDraft | null;
  /** Shows a refusal of the service. */
  fail(cause: unknown): void;
}

export function populationFields(suggested = "everyone"): PopulationFields {
  const name = field("name", "Name of the population", textInput(suggested, { maxlength: 100 }), "For example customers, or orders.");
  const unit = field("unit", "What is protected", select([["event", "One event"], ["person", "One person, in all their events"]]));
  const epsilon = field("epsilon", "Total ε", numberInput("2"), "For all counters of this population together.");
  const delta = field("delta", "Total δ", numberInput("1e-6"), "Well below one over the number of members.");
  const keys = field("key_delta", "δ set aside for keys that are found", numberInput("", { placeholder: "0" }), "A part of the total δ, such as half of it. It cannot be changed later.");
  const all = [name, unit, epsilon, delta, keys];
  const trouble = h("div");
  const element = h("div", { class: "stack" }, name.element, unit.element, h("div", { class: "row-fields" }, epsilon.element, delta.element), keys.element, trouble);
  return {
    element,
    unit: () => unit.control.value,
    read() {
      clearProblems(all);
      trouble.replaceChildren();
      const numbers = [Number(epsilon.control.value), Number(delta.control.value)] as const;
      if (name.control.value.trim() === "") name.fail("A population needs a name.");
      if (epsilon.control.value.trim() === "" || Number.isNaN(numbers[0])) epsilon.fail("A number is needed, such as 1.");
      if (delta.control.value.trim() === "" || Number.isNaN(numbers[1])) delta.fail("A number is needed, such as 1e-6.");
      const keyDelta = Number(keys.control.value);
      if (Number.isNaN(keyDelta)) keys.fail("A number is needed, such as 5e-7.");
      if (all.some((each) => each.control.hasAttribute("aria-invalid"))) return null;
      return { name: name.control.value.trim(), unit: unit.control.value, epsilon: numbers[0], delta: numbers[1], key_delta: keyDelta };
    },
    fail(cause) {
      if (!placeProblem(cause, all, { population: "name" })) trouble.replaceChildren(problemBox(cause));
    },
  };
}

export function populationForm(app: App, onCreated: () => void): HTMLElement {
  const inner = populationFields();
  const submit = h("button", { class: "button button-primary", attrs: { type: "submit" } }, "Create population");
  const element = h("form", { class: "stack narrow", attrs: { novalidate: true } }, inner.element, h("div", { class: "actions" }, submit));
  onSubmit(element, submit, async () => {
    const body = inner.read();
    if (!body) return;
    const population = await app.api.createPopulation(body);
    app.announce(`Population ${population.name} is created.`);
    onCreated();
  }, inner.fail);
  return element;
}
