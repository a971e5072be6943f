// SPDX-License-Identifier: Apache-2.0

/** What is wrong with a text under a format; nothing if it fits. */
export type FormatCheck = (text: string) => readonly string[];

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;
const label1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const labelKey = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValue = `(${labelKey})?`;

const whole = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`);
const labelPattern = whole(label);
const subdomainPattern = whole(subdomain);
const label1035Pattern = whole(label1035);
const labelKeyPattern = whole(labelKey);
const labelValuePattern = whole(labelValue);

function patternError(message: string, pattern: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${message} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

const tooLong = (text: string, max: number, unit = "characters"): readonly string[] =>
  Buffer.byteLength(text) > max ? [`must be no more than ${max} ${unit}`] : [];

export const checkLabel: FormatCheck = (text) => {
  const problems = [...tooLong(text, 63)];
  if (labelPattern.test(text)) return problems;
  if (subdomainPattern.test(text)) return [...problems, "must not contain dots"];
  const message =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...problems, patternError(message, label, ["my-name", "123-abc"])];
};

export const checkSubdomain: FormatCheck = (text) => {
  const problems = [...tooLong(text, 253)];
  return subdomainPattern.test(text) ? problems : [...problems, subdomainError];
};

const subdomainError = patternError(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomain,
  ["example.com"],
);

export const checkLabel1035: FormatCheck = (text) => {
  const problems = [...tooLong(text, 63)];
  if (label1035Pattern.test(text)) return problems;
  const message =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  return [...problems, patternError(message, label1035, ["my-name", "abc-123"])];
};

/** A name to which more is appended may end in a dash. */
export const asPrefix =
  (check: FormatCheck): FormatCheck =>
  (text) =>
    check(text.length > 1 && text.endsWith("-") ? `${text.slice(0, -2)}a` : text);

const keyError = patternError(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  labelKey,
  ["MyName", "my.name", "123-abc"],
);

export const checkQualifiedName: FormatCheck = (text) => {
  const parts = text.split("/");
  if (parts.length > 2) {
    const suffix = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    return [`a valid label key ${keyError}${suffix}`];
  }
  const [prefix, name = prefix ?? ""] = parts;
  const problems = parts.length === 2 ? prefixProblems(prefix ?? "") : [];
  const lengthProblems = name === "" ? ["must be non-empty"] : tooLong(name, 63, "bytes");
  const formProblems = labelKeyPattern.test(name) ? [] : [keyError];
  return [...problems, ...[...lengthProblems, ...formProblems].map((problem) => `name part ${problem}`)];
};

function prefixProblems(prefix: string): readonly string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  const lengthProblems = tooLong(prefix, 253, "bytes");
  const formProblems = subdomainPattern.test(prefix) ? [] : [subdomainError];
  return [...lengthProblems, ...formProblems].map((problem) => `prefix part ${problem}`);
}

export const checkLabelValue: FormatCheck = (text) => {
  const problems = [...tooLong(text, 63, "bytes")];
  if (labelValuePattern.test(text)) return problems;
  const message =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return [...problems, patternError(message, labelValue, ["MyValue", "my_value", "12345"])];
};
