// SPDX-License-Identifier: Apache-2.0
import { createTemplatePrinter, type TemplatePrinter } from "../json-path/print-template.ts";
import { textOf, UserError } from "../user-error.ts";

/** How objects are shown. */
export type OutputFormat =
  | { readonly kind: "table"; readonly isWide: boolean }
  | { readonly kind: "yaml" }
  | { readonly kind: "json" }
  | { readonly kind: "name" }
  | { readonly kind: "jsonpath"; readonly print: TemplatePrinter };

const template = /^jsonpath=(.*)$/s;

/** Reads --output. Throws a UserError that lists what it takes. */
export function readFormat(text: string): OutputFormat {
  if (text === "table" || text === "wide") return { kind: "table", isWide: text === "wide" };
  if (text === "yaml" || text === "json" || text === "name") return { kind: text };
  const [, source] = template.exec(text) ?? [];
  if (source === undefined) {
    const problem = text.startsWith("jsonpath") ? "expected a template: jsonpath='{.metadata.name}'" : expected;
    throw new UserError(`--output ${text}: ${problem}`, { exitCode: 2 });
  }
  try {
    return { kind: "jsonpath", print: createTemplatePrinter(source) };
  } catch (error) {
    throw new UserError(`--output ${text}: ${textOf(error)}`, { exitCode: 2, cause: error });
  }
}

const expected = "expected table, wide, yaml, json, name or jsonpath=TEMPLATE";
