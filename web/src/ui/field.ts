/** Fields of forms: a label, a hint and a place for the message of a refusal. */

import { freshId, h, setText, type Child } from "../dom";
import { asProblem, sentence } from "../problem";

export type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export interface Field<C extends Control = Control> {
  name: string;
  element: HTMLElement;
  control: C;
  fail(message: string | null): void;
}

export function field<C extends Control>(name: string, label: string, control: C, hint?: Child): Field<C> {
  const id = freshId(name);
  control.id = id;
  control.name = name;
  const help = hint ? h("p", { class: "hint", attrs: { id: `${id}-hint` } }, hint) : null;
  const error = h("p", { class: "field-error", attrs: { id: `${id}-error` } });
  control.setAttribute("aria-describedby", [help && `${id}-hint`, `${id}-error`].filter(Boolean).join(" "));
  return {
    name,
    control,
    element: h("div", { class: "field" }, h("label", { attrs: { for: id } }, label), control, help, error),
    fail(message) {
      setText(error, message ?? "");
      if (message) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    },
  };
}

export function textInput(value = "", attrs: Record<string, string | number | boolean> = {}): HTMLInputElement {
  const input = h("input", { attrs: { type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off", ...attrs } });
  input.value = value;
  return input;
}

/** Numbers are typed as text, so that 1e-6 is accepted and the mouse wheel changes nothing. */
export function numberInput(value = "", attrs: Record<string, string | number | boolean> = {}): HTMLInputElement {
  return textInput(value, { inputmode: "decimal", ...attrs });
}

export function select(options: readonly (readonly [string, string])[], value?: string): HTMLSelectElement {
  const control = h("select", {}, ...options.map(([id, label]) => h("option", { attrs: { value: id } }, label)));
  if (value !== undefined) control.value = value;
  return control;
}

/** Shows a refusal beside the field that it concerns. Returns false when it concerns none of them. */
export function placeProblem(cause: unknown, fields: readonly Field[], alias: Record<string, string> = {}): boolean {
  const { field: named } = asProblem(cause);
  const wanted = named === null ? null : (alias[named] ?? named);
  const target = fields.find((candidate) => candidate.name === wanted && !candidate.element.closest("[hidden]"));
  if (!target) return false;
  target.fail(sentence(cause));
  return true;
}

export function clearProblems(fields: readonly Field[]): void {
  for (const each of fields) each.fail(null);
}
