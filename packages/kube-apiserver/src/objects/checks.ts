// SPDX-License-Identifier: Apache-2.0
// Small questions that the rules of Pods and Services are put together from. Each gives what is wrong, in the reference's words.
import { type FieldError, indexPath, invalidValue, requiredValue, unsupportedValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";

/** What is wrong with an object that stands at a path. */
export type Check = (object: JsonObject, path: string) => readonly FieldError[];

/** The objects in a list member; nothing where there is none. */
export function listAt(object: JsonObject, ...names: readonly string[]): JsonObject[] {
  const value = memberAt(object, names);
  return Array.isArray(value) ? value.map((item) => (isJsonObject(item) ? item : {})) : [];
}

/** Checks every item of a list member. */
export function eachItem(name: string, check: Check): Check {
  return (object, path) =>
    listAt(object, name).flatMap((item, index) => check(item, indexPath(`${path}.${name}`, index)));
}

/** Checks a member that is there. */
export function within(name: string, check: Check): Check {
  return (object, path) => {
    const member = memberAt(object, [name]);
    return isJsonObject(member) ? check(member, `${path}.${name}`) : [];
  };
}

/** One check after the other. */
export function all(...checks: readonly Check[]): Check {
  return (object, path) => checks.flatMap((check) => check(object, path));
}

/** A text that must be there. */
export function needed(name: string): Check {
  return (object, path) => (stringAt(object, [name]) === "" ? [requiredValue(`${path}.${name}`)] : []);
}

/** A text that must be there and follow a rule. */
export function named(name: string, rule: (text: string) => readonly string[]): Check {
  return (object, path) =>
    stringAt(object, [name]) === "" ? [requiredValue(`${path}.${name}`)] : problems(object, name, { path, rule });
}

/** A text that follows a rule where it is there. */
export function maybeNamed(name: string, rule: (text: string) => readonly string[]): Check {
  return (object, path) => (stringAt(object, [name]) === "" ? [] : problems(object, name, { path, rule }));
}

function problems(
  object: JsonObject,
  name: string,
  { path, rule }: { readonly path: string; readonly rule: (text: string) => readonly string[] },
): FieldError[] {
  const text = stringAt(object, [name]);
  return rule(text).map((problem) => invalidValue(`${path}.${name}`, text, problem));
}

/** A text that is one of a few where it is there. */
export function oneOf(name: string, supported: readonly string[]): Check {
  return (object, path) => {
    const text = stringAt(object, [name]);
    return text === "" || supported.includes(text) ? [] : [unsupportedValue(`${path}.${name}`, text, supported)];
  };
}

/** A number in a range where it is there. */
export function inRange(name: string, min: number, max: number): Check {
  return (object, path) => {
    const value = memberAt(object, [name]);
    const isFine = value === undefined || value === null || (Number(value) >= min && Number(value) <= max);
    return isFine ? [] : [invalidValue(`${path}.${name}`, value, `must be between ${min} and ${max}, inclusive`)];
  };
}

/** A number that is not below zero where it is there. */
export function notNegative(name: string): Check {
  return (object, path) => {
    const value = memberAt(object, [name]);
    return typeof value === "number" && value < 0
      ? [invalidValue(`${path}.${name}`, value, "must be greater than or equal to 0")]
      : [];
  };
}

const maxPort = 65_535;
export const portRange: string = `must be between 1 and ${maxPort}, inclusive`;

/** Whether a value is the number of a port. */
export function isPort(value: JsonValue | undefined): boolean {
  return typeof value === "number" && value >= 1 && value <= maxPort;
}

/** What keeps a text from being the name of a port. */
export function portNameProblems(name: string): string[] {
  const found: string[] = [];
  if (name.length > 15) found.push("must be no more than 15 characters");
  if (!/^[-a-z0-9]+$/.test(name)) found.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(name)) found.push("must contain at least one letter (a-z)");
  if (name.includes("--")) found.push("must not contain consecutive hyphens");
  if (/^-|-$/.test(name)) found.push("must not begin or end with a hyphen");
  return found;
}

/** A port by number or by name. */
export function portProblems(value: JsonValue | undefined, path: string): FieldError[] {
  if (typeof value === "string") return portNameProblems(value).map((problem) => invalidValue(path, value, problem));
  return isPort(value) ? [] : [invalidValue(path, value ?? 0, portRange)];
}
