// SPDX-License-Identifier: Apache-2.0
import type { FieldError, FieldErrorType } from "../errors/field-error.ts";

/** One way in which a value does not fit its schema. */
export interface SchemaFinding extends Omit<FieldError, "type"> {
  /** As the causes of a Status name it; `UnknownField` is ours, as the reference server reports those elsewhere. */
  readonly type: FieldErrorType | "UnknownField";
  /**
   * Where the value is: `spec.ports[0].name`, empty for the root. The same as `field`, except that the reference server
   * reports some findings, such as those of `oneOf`, without a field (`<nil>`) and names the place in its text.
   */
  readonly path: string;
}

/** Where a check is: a chain towards the root, turned into text only when something is found. */
export interface Place {
  readonly parent: Place | undefined;
  readonly step: string | number;
  /** Whether the step is the key of a map rather than a field of an object. */
  readonly isKey: boolean;
}

/** The place of a field. */
export function fieldPlace(parent: Place | undefined, name: string): Place {
  return { parent, step: name, isKey: false };
}

/** The place of a map's entry. */
export function keyPlace(parent: Place | undefined, key: string): Place {
  return { parent, step: key, isKey: true };
}

/** The place of a list's item. */
export function indexPlace(parent: Place | undefined, index: number): Place {
  return { parent, step: index, isKey: false };
}

/** The text of a place as schema checks print it: keys of maps after a dot, even at the root. */
export function placeText(place: Place | undefined): string {
  return stepsOf(place).reduce<string>((text, { step, isKey }) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" && !isKey ? step : `${text}.${step}`;
  }, "");
}

/** The text of a place as all other checks print it: keys of maps in brackets. */
export function bracketedText(place: Place | undefined): string {
  return stepsOf(place).reduce<string>((text, { step, isKey }) => {
    if (typeof step === "number" || isKey) return `${text}[${step}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

function stepsOf(place: Place | undefined): Place[] {
  const steps: Place[] = [];
  for (let at = place; at !== undefined; at = at.parent) steps.push(at);
  return steps.reverse();
}
