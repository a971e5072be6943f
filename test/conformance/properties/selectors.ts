// SPDX-License-Identifier: Apache-2.0
// Selectors as people write them, and as they mistype them.
import fc from "fast-check";

/** Labels of objects that selectors choose from. */
export const labelSets: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom("a", "b", "c.d/e"),
  fc.constantFrom("", "1", "2", "10", "x", "x-y"),
  { maxKeys: 3 },
);

const keys = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("a", "b", "c.d/e", "nope") },
  fc.constantFrom("", "A_", "-a", "a/b/c", "in", "notin"),
);
const values = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("", "1", "2", "x", "x-y") },
  fc.constantFrom("-x", "x y", "in", "1.5", "ü"),
);
const spaces = fc.constantFrom("", "", "", " ", "\t");

const lists = fc.array(values, { maxLength: 3 }).map((list) => `(${list.join(",")})`);

const terms: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(keys, spaces, fc.constantFrom("=", "==", "!=", ">", "<"), spaces, values).map((parts) => parts.join("")),
  fc.tuple(keys, fc.constantFrom(" in ", " notin ", " in", " IN "), lists).map((parts) => parts.join("")),
  keys,
  keys.map((key) => `!${key}`),
);

/** A character somewhere that does not belong there. */
function mistyped(text: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.nat(text.length), fc.constantFrom(",", "(", ")", "!", "=", " ", "%", "'", "\\", "="))
    .map(([at, char]) => text.slice(0, at) + char + text.slice(at));
}

/** Label selectors, one in eight of them mistyped. */
export const labelSelectors: fc.Arbitrary<string> = fc
  .array(terms, { maxLength: 3 })
  .map((list) => list.join(","))
  .chain((text) => fc.oneof({ weight: 7, arbitrary: fc.constant(text) }, mistyped(text)));

const fieldTerms = fc
  .tuple(
    fc.constantFrom("metadata.name", "metadata.namespace", "spec.color", "spec.size", "spec.nope", "name", ""),
    fc.constantFrom("=", "==", "!=", "<"),
    fc.constantFrom("w-0", "w-1", "red", "green", "1", "", "a\\,b", "\\"),
  )
  .map((parts) => parts.join(""));

/** Field selectors of widgets. */
export const fieldSelectors: fc.Arbitrary<string> = fc
  .array(fieldTerms, { minLength: 1, maxLength: 2 })
  .map((list) => list.join(","))
  .chain((text) => fc.oneof({ weight: 7, arbitrary: fc.constant(text) }, mistyped(text)));
