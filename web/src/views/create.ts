/** A new counter: a form, and a preview of its error and cost. */

import { paths, type View } from "../app";
import { debounce, h } from "../dom";
import { draftOf, type Reading } from "../draft";
import { asProblem, sentence } from "../problem";
import type { Population } from "../types";
import { clearProblems, placeProblem } from "../ui/field";
import { problemBox } from "../ui/blocks";
import { onSubmit } from "../ui/button";
import { createForm } from "./create/form";
import { previewPanel } from "./create/preview";
import { populationFields } from "./population-form";

const NEW = "\u0000new";

export const createView: View = async (app, main, signal) => {
  let populations: Population[] = await app.api.populations(signal);
  if (signal.aborted) return;
  const usual = populations.find((each) => each.name === "everyone") ?? populations[0];
  const form = createForm(populationChoices(), usual?.name ?? NEW);
  const inPlace = populationFields(populations.some((each) => each.name === "everyone") ? "" : "everyone");
  const inPlaceBox = h("fieldset", { class: "in-place-box" }, h("legend", {}, "New population"), inPlace.element);
  form.population.element.after(inPlaceBox);
  const preview = previewPanel(signal);
  const trouble = h("div", { attrs: { role: "alert" } });
  const submit = h("button", { class: "button button-primary", attrs: { type: "submit" } }, "Create counter");
  const element = h("form", { class: "create-form", attrs: { novalidate: true } }, form.element, trouble,
    h("div", { class: "actions" }, submit, h("a", { class: "button button-quiet", attrs: { href: paths.counters } }, "Cancel")));

  main.append(
    h("nav", { class: "crumbs", attrs: { "aria-label": "Where you are" } }, h("a", { attrs: { href: paths.counters } }, "Counters")),
    h("div", { class: "head" }, h("div", {}, h("h1", {}, "New counter"), h("p", { class: "summary" }, "The error is shown as you type. Nothing is spent until you create it."))),
    h("div", { class: "create" }, element, preview.element), preview.brief);

  function populationChoices(): (readonly [string, string])[] {
    return [...populations.map(({ name }) => [name, name] as const), [NEW, "New population…"] as const];
  }
  /** All counters of a population protect the same unit, so the form follows the chosen population. */
  function followUnit(): void {
    const unit = isNew() ? inPlace.unit() : populations.find((each) => each.name === form.population.control.value)?.unit;
    if (unit !== undefined) form.protect(unit === "event" ? "event" : "person");
  }
  const isNew = () => form.population.control.value === NEW;

  /** Reads the form, and shows the mistakes that the page itself finds beside their fields. */
  function draft(complain: boolean): Reading {
    const read = draftOf(form.values());
    if (isNew()) delete read.body.population;
    clearProblems(form.fields);
    trouble.replaceChildren();
    for (const each of form.fields) {
      const mistake = read.mistakes[each.name];
      // An empty name is only a mistake once the button is pressed.
      if (mistake && (complain || each.name !== "name")) each.fail(mistake);
    }
    return read;
  }

  let asking: AbortController | null = null;
  async function plan(): Promise<void> {
    inPlaceBox.hidden = !isNew();
    form.describe();
    const { body, mistakes } = draft(false);
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    if (Object.keys(mistakes).some((each) => each !== "name")) return preview.pause("Complete the form to see the error.");
    preview.pause(null);
    const { name: _unused, ...planned } = body;
    // The service cannot plan for a population that does not exist yet, so it plans for another one.
    const asked = isNew() ? { ...planned, population: usual?.name ?? "everyone" } : planned;
    try {
      const answer = await app.api.plan(asked, AbortSignal.any([signal, mine.signal]));
      if (isNew()) preview.show({ ...answer, population: null, affordable: null }, body, form.stepSeconds());
      else preview.show(answer, body, form.stepSeconds());
    } catch (cause) {
      if (signal.aborted || mine.signal.aborted) return;
      const placed = asProblem(cause).status < 500 && placeProblem(cause, form.fields, form.aliases());
      preview.pause(placed ? "The service refuses this. See the marked field." : sentence(cause));
    }
  }
  const soon = debounce(250, () => void plan());
  form.population.control.addEventListener("change", followUnit);
  inPlaceBox.addEventListener("change", followUnit);
  followUnit();
  element.addEventListener("input", soon);
  element.addEventListener("change", soon);

  onSubmit(element, submit, async () => {
    const { body, mistakes } = draft(true);
    if (Object.keys(mistakes).length > 0) return focusFirst();
    if (isNew()) {
      const wanted = inPlace.read();
      if (!wanted) return focusFirst();
      try {
        const made = await app.api.createPopulation(wanted);
        populations = [...populations, made];
        form.setPopulations(populationChoices(), made.name);
        body.population = made.name;
      } catch (cause) {
        inPlace.fail(cause);
        return focusFirst();
      }
    }
    const counter = await app.api.createCounter(body);
    app.announce(`${counter.name} is created.`);
    void app.refreshStatus();
    location.hash = paths.counter(counter.name);
  }, (cause) => {
    if (placeProblem(cause, form.fields, form.aliases())) focusFirst();
    else trouble.replaceChildren(problemBox(cause));
  });

  function focusFirst(): void {
    const wrong = element.querySelector<HTMLElement>("[aria-invalid=true]");
    wrong?.closest("details")?.setAttribute("open", "");
    wrong?.focus();
  }

  await plan();
};
