// SPDX-License-Identifier: Apache-2.0
import { utf8Length } from "@purlin/kube-objects/json";

const keyPattern = /^[-._a-zA-Z0-9]+$/;
const keyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** What keeps a text from being a key in a ConfigMap or a Secret. */
export function configKeyProblems(key: string): string[] {
  const problems = utf8Length(key) > 253 ? ["must be no more than 253 characters"] : [];
  if (!keyPattern.test(key)) problems.push(keyText);
  if (key === "." || key === ".." || key.startsWith("..")) {
    problems.push(key.startsWith("..") && key !== ".." ? "must not start with '..'" : `must not be '${key}'`);
  }
  return problems;
}
