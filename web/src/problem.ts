/** What went wrong, and beside which field of a form it should be said. Pure. */

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly className: string,
    message: string,
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

/** What to do about it, for classes where the service's own sentence does not say. */
export function advice(problem: Problem): string {
  switch (problem.className) {
    case "unreachable":
      return "The service does not answer. Check that it runs and that this machine can reach it.";
    case "forbidden":
      return "This token's role does not allow that. Sign in with another token.";
    case "budget-spent":
      return "Lower ε, or take another population that has budget left.";
    case "too-many-requests":
    case "busy":
      return problem.retryAfter === null ? "Try again in a moment." : `Try again in ${problem.retryAfter} s.`;
    case "fenced":
      return "The service has stopped releasing. See the notice at the top of the page.";
    case "read-only":
      return "The service could not write to its storage and takes no changes. See the notice at the top of the page.";
    default:
      return "";
  }
}

export function asProblem(cause: unknown): Problem {
  if (cause instanceof Problem) return cause;
  return new Problem(0, "page", cause instanceof Error ? cause.message : String(cause));
}

export function sentence(cause: unknown): string {
  const problem = asProblem(cause);
  const told = problem.message.charAt(0).toUpperCase() + problem.message.slice(1);
  const ended = /[.!?]$/.test(told) ? told : `${told}.`;
  return [ended, advice(problem)].filter(Boolean).join(" ");
}

/** Words by which the service's sentences name what they are about, and the field each belongs to. */
const NAMES: [RegExp, string][] = [
  [/\bepsilon\b|ε/i, "epsilon"],
  [/\bdelta\b|δ/i, "delta"],
  [/\bpopulations?\b/i, "population"],
  [/\bmax[_ -]steps\b/i, "max_steps"],
  [/\bmin[_ -]gap\b/i, "min_gap"],
  [/\bmechanisms?\b/i, "mechanism"],
  [/\bworkloads?\b/i, "workload"],
  [/\bclamp(ing)?\b/i, "clamp"],
  [/\bgrid\b/i, "grid"],
  [/\bkeys?\b/i, "keys"],
  [/\bneighbou?rs?\b/i, "neighbours"],
  [/\bobjectives?\b/i, "objective"],
  [/\bremember[_ -]ids\b/i, "remember_ids"],
  [/\bgrace\b/i, "grace"],
  [/\bstart\b/i, "start"],
  [/\bevery\b/i, "every"],
  [/\b(steps|horizon)\b/i, "steps"],
  [/\bdescription\b/i, "description"],
  [/\bexpires?\b|\bexpiry\b/i, "expires"],
  [/\brole\b/i, "role"],
  [/\bname\b/i, "name"],
  [/\bunit\b/i, "unit"],
];

/** The field that a refusal concerns, or null: by class where that decides, else by the first field that its sentence names. */
export function fieldOf(problem: Problem): string | null {
  if (problem.className === "budget-spent") return "epsilon";
  if (problem.className === "conflict" && /\bname\b|exists|taken|used/i.test(problem.message)) return "name";
  let best: { at: number; field: string } | null = null;
  for (const [pattern, field] of NAMES) {
    const at = problem.message.search(pattern);
    if (at >= 0 && (best === null || at < best.at)) best = { at, field };
  }
  return best?.field ?? null;
}
