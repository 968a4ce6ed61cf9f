/** Light or dark. Follows the system by default; a choice made here is kept in this browser. */

const KEY = "evertally-theme";
const CHOICES = ["auto", "light", "dark"] as const;
export type Theme = (typeof CHOICES)[number];

const listeners = new Set<() => void>();

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return CHOICES.find((choice) => choice === kept) ?? "auto";
}

export function setTheme(choice: Theme): void {
  if (choice === "auto") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, choice);
  applyTheme();
}

export function applyTheme(): void {
  const choice = theme();
  if (choice === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = choice;
  for (const listener of listeners) listener();
}

export function nextTheme(choice: Theme): Theme {
  return CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length]!;
}

/** Charts are drawn on canvas, which does not follow the style sheet by itself. */
export function onTheme(signal: AbortSignal, listener: () => void): void {
  listeners.add(listener);
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", listener, { signal });
  signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
}

/** A colour of the style sheet as the browser resolves it now. */
export function colour(name: string): string {
  const probe = document.createElement("span");
  probe.hidden = true;
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}
