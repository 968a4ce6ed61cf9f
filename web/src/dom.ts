/** Elements without a framework. Text is always set as text, so that no data can become markup. */

export type Child = Node | string | number | null | undefined | false;

type Attributes = Record<string, string | number | boolean | null | undefined>;
type Listeners = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };

export interface Props {
  class?: string;
  on?: Listeners;
  attrs?: Attributes;
}

function fill(element: Element, props: Props, children: readonly Child[]): void {
  if (props.class) element.setAttribute("class", props.class);
  for (const [name, value] of Object.entries(props.attrs ?? {})) setAttribute(element, name, value);
  for (const [type, listener] of Object.entries(props.on ?? {})) element.addEventListener(type, listener as EventListener);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map((child) => (child instanceof Node ? child : String(child))));
}

export function setAttribute(element: Element, name: string, value: Attributes[string]): void {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** An element with a class, attributes, listeners and children. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, props, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function s<K extends keyof SVGElementTagNameMap>(tag: K, attrs: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  fill(element, { attrs }, children);
  return element;
}

/** Sets text only when it changed, so that a screen reader does not repeat it. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

let counter = 0;

/** An id that connects a field with its label, hint and error. */
export function freshId(stem: string): string {
  counter += 1;
  return `${stem}-${counter}`;
}

/** Runs `action` every `milliseconds` while the page is visible, until the view is left. */
export function repeat(signal: AbortSignal, milliseconds: number, action: () => void): void {
  const timer = setInterval(() => {
    if (document.visibilityState === "visible") action();
  }, milliseconds);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

export function debounce<A extends unknown[]>(milliseconds: number, action: (...args: A) => void): (...args: A) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...args), milliseconds);
  };
}
