// SPDX-License-Identifier: Apache-2.0
// The rules for metadata.name. Each kind of object follows one of them. The functions return what is wrong, in the
// reference's words; an empty list means nothing is.
import { utf8Length } from "../json/utf8.ts";
import { patternText, tooLongText } from "./name-texts.ts";

/**
 * A rule for names. With `isPrefix` the name will get random characters appended, so a trailing dash is fine.
 */
export type NameRule = (name: string, isPrefix: boolean) => string[];

const labelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const labelRegExp = new RegExp(`^${labelPattern}$`);
const subdomainPattern = `${labelPattern}(\\.${labelPattern})*`;
const subdomainRegExp = new RegExp(`^${subdomainPattern}$`);
const label1035Pattern = "[a-z]([-a-z0-9]*[a-z0-9])?";
const label1035RegExp = new RegExp(`^${label1035Pattern}$`);

const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const label1035Text =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";

/** What keeps a text from being a DNS-1123 subdomain of at most 253 bytes. */
export function dns1123SubdomainProblems(value: string, unit: "bytes" | "characters" = "characters"): string[] {
  const problems = utf8Length(value) > 253 ? [tooLongText(253, unit)] : [];
  if (!subdomainRegExp.test(value)) problems.push(patternText(subdomainText, subdomainPattern, ["example.com"]));
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
  if (!label1035RegExp.test(value)) {
    problems.push(patternText(label1035Text, label1035Pattern, ["my-name", "abc-123"]));
  }
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
