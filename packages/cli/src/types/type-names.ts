// SPDX-License-Identifier: Apache-2.0
// Names in generated modules: what a schema calls a thing is not always what TypeScript can call it.

const identifier = /^[A-Za-z_$][\w$]*$/;

/** Words that cannot name a type, and the names of the types that generated text uses. */
const reserved: ReadonlySet<string> = new Set([
  ...["any", "bigint", "boolean", "never", "null", "number", "object", "string", "symbol", "undefined", "unknown"],
  ...["void", "as", "async", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "declare"],
  ...["default", "delete", "do", "else", "enum", "export", "extends", "false", "finally", "for", "from", "function"],
  ...["get", "if", "implements", "import", "in", "infer", "instanceof", "interface", "intrinsic", "is", "keyof", "let"],
  ...["module", "namespace", "new", "of", "package", "private", "protected", "public", "readonly", "require", "return"],
  ...["set", "static", "super", "switch", "this", "throw", "true", "try", "type", "typeof", "unique", "var", "while"],
  ...["with", "yield", "arguments", "eval"],
]);

/** The key of a member: as it is, or quoted. */
export function memberName(name: string): string {
  return identifier.test(name) ? name : quoted(name);
}

/** A text as a string literal that stays on its line. */
export function quoted(text: string): string {
  // JSON allows these two in strings; they end lines in some editors.
  return JSON.stringify(text).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

/** Names for the types of one module. Each is handed out once. */
export interface TypeNames {
  /** The name itself, or one that looks like it where it is taken or TypeScript cannot use it. */
  take(wanted: string): string;
}

/** Makes {@link TypeNames}; `taken` are names that something else in the module has. */
export function createTypeNames(taken: Iterable<string>): TypeNames {
  const used = new Set(taken);
  return {
    take(wanted) {
      let name = wanted.replaceAll(/[^\w$]/g, "_");
      if (!identifier.test(name)) name = `_${name}`;
      while (used.has(name) || reserved.has(name)) name = `${name}_`;
      used.add(name);
      return name;
    },
  };
}

/** The file of a group-version's types below the output folder: `v1.d.ts`, `apps/v1.d.ts`. */
export function modulePath(apiVersion: string): string {
  return `${apiVersion}.d.ts`;
}

/** How one module imports another. */
export function importPath(from: string, to: string): string {
  const up = from.split("/").slice(1);
  return `${up.length === 0 ? "./" : up.map(() => "../").join("")}${to}`;
}
