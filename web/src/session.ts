/**
 * The token, from the address (`#token=…`) or a form. It is kept for this tab only, and removed from the
 * address at once, so that it stays out of the history and of copied addresses.
 */

const KEY = "evertally-token";

/** The token in a fragment, and what is left of the fragment without it. Pure. */
export function splitFragment(fragment: string): { token: string | null; rest: string } {
  const text = fragment.replace(/^#/, "");
  if (!/(^|&)token=/.test(text)) return { token: null, rest: fragment };
  let token: string | null = null;
  const kept = text.split("&").filter((part) => {
    if (!part.startsWith("token=")) return true;
    try {
      token = decodeURIComponent(part.slice("token=".length)).trim() || null;
    } catch {
      token = null;
    }
    return false;
  });
  return { token, rest: kept.length > 0 ? `#${kept.join("&")}` : "" };
}

/** Removes a token from the address bar and returns it, if there is one. */
export function adoptFromAddress(): boolean {
  const { token, rest } = splitFragment(location.hash);
  if (rest === location.hash) return false;
  history.replaceState(null, "", location.pathname + location.search + (rest || "#/"));
  if (token) keep(token);
  return token !== null;
}

export function current(): string | null {
  return sessionStorage.getItem(KEY);
}

export function keep(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function forget(): void {
  sessionStorage.removeItem(KEY);
}
