// SPDX-License-Identifier: Apache-2.0

/** The texts in Warning headers: `299 - "text"`, several joined by commas, quotes and backslashes escaped. */
export function parseWarnings(header: string | readonly string[] | undefined): string[] {
  const joined = typeof header === "string" ? header : (header ?? []).join(", ");
  return [...joined.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map((match) =>
    (match[1] ?? "").replaceAll(/\\(.)/g, "$1"),
  );
}
