// SPDX-License-Identifier: Apache-2.0
// What a label key and a label value may look like. Each function returns what is wrong, in the reference's words; an
// empty list means nothing is.
import { utf8Length } from "../json/utf8.ts";
import { patternText, tooLongText } from "./name-texts.ts";
import { dns1123SubdomainProblems } from "./names.ts";

const maxLength = 63;
const keyPattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const keyRegExp = new RegExp(`^${keyPattern}$`);
const valuePattern = `(${keyPattern})?`;
const valueRegExp = new RegExp(`^${valuePattern}$`);
const alphabet =
  "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const keyText = patternText(`must ${alphabet}`, keyPattern, ["MyName", "my.name", "123-abc"]);

/** What is wrong with a label key (`name` or `prefix/name`), which is also what Kubernetes calls a qualified name. */
export function labelKeyProblems(key: string): string[] {
  const parts = key.split("/");
  if (parts.length > 2) {
    return [`a valid label key ${keyText} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const [name = "", prefix] = parts.reverse();
  return [...prefixProblems(prefix), ...nameProblems(name)];
}

function prefixProblems(prefix: string | undefined): string[] {
  if (prefix === undefined) return [];
  if (prefix === "") return ["prefix part must be non-empty"];
  return dns1123SubdomainProblems(prefix, "bytes").map((problem) => `prefix part ${problem}`);
}

function nameProblems(name: string): string[] {
  const problems: string[] = [];
  if (name === "") problems.push("name part must be non-empty");
  else if (utf8Length(name) > maxLength) problems.push(`name part ${tooLongText(maxLength, "bytes")}`);
  if (!keyRegExp.test(name)) problems.push(`name part ${keyText}`);
  return problems;
}

/** What is wrong with a label value. The empty string is a value. */
export function labelValueProblems(value: string): string[] {
  const problems: string[] = [];
  if (utf8Length(value) > maxLength) problems.push(tooLongText(maxLength, "bytes"));
  if (!valueRegExp.test(value)) {
    const text = `a valid label must be an empty string or ${alphabet}`;
    problems.push(patternText(text, valuePattern, ["MyValue", "my_value", "12345"]));
  }
  return problems;
}
