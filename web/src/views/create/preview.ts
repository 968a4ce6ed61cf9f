/** The preview of a counter: its error over time, how it compares, and its cost. */

import { profileChart } from "../../chart/profile";
import { h, setText } from "../../dom";
import { usualSteps } from "../../draft";
import { margin, NORMAL_95, number, parameter, span } from "../../format";
import type { NewCounter, Preview } from "../../types";
import { budgetBar } from "../../ui/budget-bar";
import { facts } from "../../ui/blocks";
import { accuracySentences } from "../counter/facts";

export interface PreviewPanel {
  element: HTMLElement;
  /** One line of the preview, which stays visible on narrow screens. */
  brief: HTMLElement;
  /** Says why the preview is out of date. Null while the service plans. */
  pause(reason: string | null): void;
  show(preview: Preview, body: NewCounter, stepSeconds: number | null): void;
}

export function previewPanel(signal: AbortSignal): PreviewPanel {
  const chart = profileChart(signal);
  const words = h("div", { class: "preview-words", attrs: { role: "status" } });
  const brief = h("p", { class: "preview-brief", attrs: { "aria-hidden": "true" } });
  const rest = h("div", { class: "stack" });
  const caption = h("figcaption");
  const picture = h("figure", { class: "preview-chart", attrs: { hidden: true } }, caption, chart.element);
  const element = h("aside", { class: "preview", attrs: { "aria-label": "Preview" } }, h("h2", {}, "Preview"), words, picture, rest);

  return {
    element,
    brief,
    pause(reason) {
      element.classList.toggle("preview-old", true);
      if (reason === null) return;
      setText(brief, "");
      words.replaceChildren(h("p", { class: "guarantees" }, reason));
      picture.hidden = true;
      rest.replaceChildren();
    },
    show(preview, body, stepSeconds) {
      element.classList.toggle("preview-old", false);
      // Without a known end the profile reaches far ahead. The chart ends at a usual number of steps.
      const until = body.steps ? Number.POSITIVE_INFINITY : (usualSteps(body.every ?? "") ?? Number.POSITIVE_INFINITY);
      const profile = preview.profile.filter(({ step }, index) => index === 0 || step < until);
      const [first, last] = [profile[0], profile.at(-1)];
      const error = preview.accuracy.at_horizon ?? last?.standard_error ?? null;
      // For pure noise only the standard error is known in advance.
      const isPure = body.delta === 0;
      const factor = isPure ? 1 : NORMAL_95;
      setText(caption, isPure ? "Standard error, by step" : "95 % margin, by step");
      const when = last === undefined ? "" : body.steps ? ` at the last step` : ` at step ${number(last.step + 1, 0)}` + (stepSeconds ? `, after ${span((last.step + 1) * stepSeconds)},` : "");
      words.replaceChildren(...(error === null ? [] : [
        h("p", { class: "figure figure-small" }, h("span", { class: "value" }, `± ${margin(factor * error)}`)),
        h("p", { class: "guarantees" }, isPure ? `The standard error of a release${when}${body.keys ? ", for each key" : ""}.` : `With probability 95 %, a release${when} is within this of the true total${body.keys ? " of its key" : ""}.`)]));
      setText(brief, error === null ? "" : `± ${margin(factor * error)}${when}, cost ρ = ${parameter(preview.rho)}`);
      picture.hidden = profile.length === 0;
      chart.show(profile, factor, `${isPure ? "The standard error" : "The 95 % margin"} grows to ± ${error === null ? "an unknown number" : margin(factor * error)} over ${number((last?.step ?? 0) + 1, 0)} steps.`);
      const population = preview.population;
      rest.replaceChildren(
        accuracySentences(preview.accuracy) ?? "",
        facts([
          ...(first && first !== last ? [[first.step === 0 ? "First release" : `At step ${number(first.step + 1, 0)}`, `± ${margin(factor * first.standard_error)}`] as const] : []),
          ["Cost", `ρ = ${parameter(preview.rho)}`],
          ["Mechanism", preview.mechanism],
        ]),
        population ? h("div", {}, h("h3", {}, `Budget of ${population.name}`), budgetBar(population, preview.rho)) : "",
        preview.affordable === false ? h("p", { class: "notice notice-bad" }, `${population?.name ?? "The population"} has not enough left for this. Lower ε, or choose another population.`) : "");
    },
  };
}
