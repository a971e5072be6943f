// SPDX-License-Identifier: Apache-2.0

const keywords: ReadonlySet<string> = new Set(
  (
    "true false null in as break const continue else for function if import let loop package namespace return " +
    "var void while"
  ).split(" "),
);

const escapes: ReadonlyMap<string, string> = new Map([
  ["__", "__underscores__"],
  [".", "__dot__"],
  ["-", "__dash__"],
  ["/", "__slash__"],
]);
const unescapes: ReadonlyMap<string, string> = new Map([...escapes].map(([plain, escaped]) => [escaped, plain]));

/** The name under which a property is selected in an expression; undefined when it cannot be selected. */
export function escapeName(name: string): string | undefined {
  if (keywords.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replace(/__|[./-]/g, (part) => escapes.get(part) ?? part);
}

/** The property behind a name in an expression; undefined when the name is not an escaped one. */
export function unescapeName(name: string): string | undefined {
  if (!name.includes("__")) return name;
  let isValid = true;
  const plain = name.replace(/__[^_]+__/g, (part) => {
    const known = unescapes.get(part);
    if (known !== undefined) return known;
    const word = part.slice(2, -2);
    // A keyword is escaped only as a whole.
    if (!keywords.has(word) || part !== name) isValid = false;
    return word;
  });
  return isValid ? plain : undefined;
}
