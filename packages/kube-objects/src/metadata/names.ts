// SPDX-License-Identifier: Apache-2.0
// The rules for names and labels. Each function returns what is wrong, in the reference's words; an empty list means nothing is.

import { randomInt } from "node:crypto";
import { utf8Length } from "../json/json-value.ts";

/**
 * A rule for names. With `isPrefix` the name will get random characters appended, so a trailing dash is fine.
 */
export type NameRule = (name: string, isPrefix: boolean) => string[];

const labelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const labelRegExp = new RegExp(`^${labelPattern}$`);
const subdomainPattern = `${labelPattern}(\\.${labelPattern})*`;
const subdomainRegExp = new RegExp(`^${subdomainPattern}$`);
const looseLabelPattern = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const loosePattern = `${looseLabelPattern}(\\.${looseLabelPattern})*`;
const looseRegExp = new RegExp(`^${loosePattern}$`);
const label1035Pattern = "[a-z]([-a-z0-9]*[a-z0-9])?";
const label1035RegExp = new RegExp(`^${label1035Pattern}$`);

const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const looseText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
const label1035Text =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";

/** What keeps a text from being a DNS-1123 subdomain of at most 253 bytes. */
export function dns1123SubdomainProblems(value: string, unit: "bytes" | "characters" = "characters"): string[] {
  const problems = utf8Length(value) > 253 ? [tooLongText(253, unit)] : [];
  if (!subdomainRegExp.test(value)) problems.push(patternText(subdomainText, subdomainPattern, ["example.com"]));
  return problems;
}

/** What keeps a text from being a DNS-1123 subdomain in which underscores are allowed. */
export function subdomainWithUnderscoreProblems(value: string): string[] {
  const problems = utf8Length(value) > 253 ? [tooLongText(253, "characters")] : [];
  if (!looseRegExp.test(value)) problems.push(patternText(looseText, loosePattern, ["example.com"]));
  return problems;
}

/** What keeps a text from being a DNS-1123 label of at most 63 bytes. */
export function dns1123LabelProblems(value: string): string[] {
  const problems = utf8Length(value) > 63 ? [tooLongText(63, "characters")] : [];
  if (labelRegExp.test(value)) return problems;
  const onlyDots = subdomainRegExp.test(value);
  problems.push(onlyDots ? "must not contain dots" : patternText(labelText, labelPattern, ["my-name", "123-abc"]));
  return problems;
}

/** What keeps a text from being a DNS-1035 label of at most 63 bytes. */
export function dns1035LabelProblems(value: string): string[] {
  const problems = utf8Length(value) > 63 ? [tooLongText(63, "characters")] : [];
  if (!label1035RegExp.test(value)) problems.push(patternText(label1035Text, label1035Pattern, ["my-name", "abc-123"]));
  return problems;
}

// The reference drops one character more than the dash; kept, because it decides which prefixes pass.
function withoutTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;
}

/** Names that are DNS-1123 subdomains: most kinds. */
export const subdomainName: NameRule = (name, isPrefix) =>
  dns1123SubdomainProblems(isPrefix ? withoutTrailingDash(name) : name);

/** Names that are DNS-1123 labels: Namespace, and Service since 1.36. */
export const labelName: NameRule = (name, isPrefix) =>
  dns1123LabelProblems(isPrefix ? withoutTrailingDash(name) : name);

/** Names that are DNS-1035 labels: Service before 1.36. */
export const label1035Name: NameRule = (name, isPrefix) =>
  dns1035LabelProblems(isPrefix ? withoutTrailingDash(name) : name);

/** Names that only have to survive as one segment of a URL path: the RBAC kinds. */
export const pathSegmentName: NameRule = (name, isPrefix) => {
  if (!isPrefix && (name === "." || name === "..")) return [`may not be '${name}'`];
  return ["/", "%"].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
};

/** `must be no more than <n> bytes`. Names say characters, labels say bytes; both count bytes. */
function tooLongText(max: number, unit: "bytes" | "characters"): string {
  return `must be no more than ${max} ${unit}`;
}

/** What a value must look like, with examples and the pattern itself. */
function patternText(text: string, pattern: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return examples.length === 0
    ? `${text} (regex used for validation is '${pattern}')`
    : `${text} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

const maxNameLength = 63;
const randomLength = 5;
// No vowels, so no words; no characters that look alike.
const generatedAlphabet = "bcdfghjklmnpqrstvwxz2456789";

/** Picks an integer from 0 up to, and without, `max`. */
export type RandomInteger = (max: number) => number;

/** A name for metadata.generateName: its first 58 characters and five random ones. */
export function generateName(base: string, random: RandomInteger = randomInt): string {
  let name = base.slice(0, maxNameLength - randomLength);
  for (let i = 0; i < randomLength; i++) name += generatedAlphabet.charAt(random(generatedAlphabet.length));
  return name;
}

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
  // Most keys: short, and without a prefix. The pattern has one-byte characters only.
  if (key.length <= maxLength && keyRegExp.test(key)) return [];
  if (isFineWithPrefix(key)) return [];
  const parts = key.split("/");
  if (parts.length > 2) {
    return [`a valid label key ${keyText} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const [name = "", prefix] = parts.reverse();
  return [...prefixProblems(prefix), ...nameProblems(name)];
}

/** The last prefix that was found fine: an object can have very many keys, mostly of few prefixes. */
let finePrefix = "";

function isFineWithPrefix(key: string): boolean {
  const slash = key.indexOf("/");
  if (slash <= 0 || key.length - slash - 1 > maxLength || !keyRegExp.test(key.slice(slash + 1))) return false;
  if (slash === finePrefix.length && key.startsWith(finePrefix)) return true;
  const prefix = key.slice(0, slash);
  if (prefixProblems(prefix).length > 0) return false;
  finePrefix = prefix;
  return true;
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
  if (value.length <= maxLength && valueRegExp.test(value)) return [];
  const problems: string[] = [];
  if (utf8Length(value) > maxLength) problems.push(tooLongText(maxLength, "bytes"));
  if (!valueRegExp.test(value)) {
    const text = `a valid label must be an empty string or ${alphabet}`;
    problems.push(patternText(text, valuePattern, ["MyValue", "my_value", "12345"]));
  }
  return problems;
}
