// SPDX-License-Identifier: Apache-2.0
// Which nodes can use the devices of a ResourceSlice.
import { type Check, listAt } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  repeatsIn,
  requiredValue,
  tooMany,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { compareQuantities, quantityNanos, quantityText } from "@purlin/kube-objects/typed";
import { goForms } from "../checks/go-form.ts";
import { hasObject } from "../checks/rule-checks.ts";
import { nodeSelector } from "../storage/volume-spec.ts";

/** A member that selects nodes, where it is set; and its errors. */
interface Selection {
  readonly name: string;
  readonly isSet: boolean;
  readonly errors: readonly FieldError[];
}

function nodeNameSelection(object: JsonObject, path: string, emptyText: string): Selection {
  const name = memberAt(object, ["nodeName"]);
  const at = `${path}.nodeName`;
  if (typeof name !== "string") return { name: "nodeName", isSet: false, errors: [] };
  const errors =
    name === ""
      ? [invalidValue(at, name, emptyText)]
      : dns1123SubdomainProblems(name).map((problem) => invalidValue(at, name, problem));
  return { name: "nodeName", isSet: name !== "", errors };
}

function selectorSelection(object: JsonObject, path: string): Selection {
  const isSet = hasObject(object, "nodeSelector");
  return {
    name: "nodeSelector",
    isSet,
    errors: isSet ? nodeSelector(objectAt(object, ["nodeSelector"]), `${path}.nodeSelector`) : [],
  };
}

function flagSelection(object: JsonObject, name: string, path: string): Selection {
  const value = memberAt(object, [name]);
  const errors = value === false ? [invalidValue(`${path}.${name}`, value, "must be either unset or set to true")] : [];
  return { name, isSet: value === true, errors };
}

/** Exactly one of some members is set. `text` says so; `moreText` when more are. */
function exactlyOne(
  selections: readonly Selection[],
  path: string,
  [text, moreText]: readonly [string, string],
): FieldError[] {
  const set = selections.filter(({ isSet }) => isSet).map(({ name }) => `\`${name}\``);
  const errors = selections.flatMap(({ errors: own }) => own);
  if (set.length === 0) return [...errors, requiredValue(path, text)];
  return set.length === 1 ? errors : [...errors, invalidValue(path, `{${set.join(", ")}}`, moreText)];
}

const oneSelection = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

/** The nodes that can use the devices. */
export const sliceNodes: Check = (spec, path) => {
  const terms = listAt(spec, "nodeSelector", "nodeSelectorTerms");
  const why = "must have exactly one node selector term";
  const isOdd = hasObject(spec, "nodeSelector") && terms.length !== 1;
  const at = `${path}.nodeSelector.nodeSelectorTerms`;
  const selection = selectorSelection(spec, path);
  const oneTerm = isOdd ? [invalidPrinted(at, goForms("NodeSelectorTerm", terms), why)] : [];
  return exactlyOne(
    [
      nodeNameSelection(spec, path, "must be either unset or set to a non-empty string"),
      { ...selection, errors: [...selection.errors, ...oneTerm] },
      flagSelection(spec, "allNodes", path),
      flagSelection(spec, "perDeviceNodeSelection", path),
    ],
    path,
    [oneSelection, `${oneSelection}, but multiple fields are set`],
  );
};

const ownSelection =
  "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
const noSelection =
  "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";

/** The nodes of one device, where the slice leaves them to the devices. */
export function deviceNodes(isPerDevice: boolean): Check {
  return (device, path) => {
    if (isPerDevice) {
      const selections = [
        nodeNameSelection(device, path, "must not be empty"),
        selectorSelection(device, path),
        flagSelection(device, "allNodes", path),
      ];
      return exactlyOne(selections, path, [ownSelection, ownSelection]);
    }
    const isSelecting = ["nodeName", "nodeSelector", "allNodes"].some((name) => (device[name] ?? null) !== null);
    return isSelecting ? [invalidValue(path, null, noSelection)] : [];
  };
}

// How much of a capacity a request of a shared device can ask for.

const bothPolicies =
  'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';

/** The errors of a policy. `most` is the capacity. */
export function requestPolicy(policy: JsonObject, path: string, most: string): FieldError[] {
  const [values, hasRange] = [textsAt(policy, ["validValues"]), hasObject(policy, "validRange")];
  if (values.length > 0 && hasRange) return [forbiddenValue(path, bothPolicies)];
  if (values.length === 0 && !hasRange) return [];
  const [kind, initial] = [hasRange ? "validRange" : "validValues", stringAt(policy, ["default"])];
  if (initial === "") return [requiredValue(`${path}.default`, `required when ${kind} is defined`)];
  const at = `${path}.${kind}`;
  return hasRange
    ? rangeErrors(objectAt(policy, ["validRange"]), at, { initial, most })
    : valueErrors(values, at, { initial, most });
}

interface Bounds {
  readonly initial: string;
  readonly most: string;
}

const maxValues = 10;

function valueErrors(values: readonly string[], path: string, { initial, most }: Bounds): FieldError[] {
  const unsorted = firstErrors(values, (value, index) =>
    index > 0 && compareQuantities(values[index - 1] ?? "", value) > 0
      ? [invalidValue(`${path}[${index}]`, value, "values must be sorted in ascending order")]
      : [],
  );
  const isListed = values.length <= maxValues && values.some((value) => compareQuantities(value, initial) === 0);
  return [
    ...unsorted,
    ...(values.length > maxValues ? [tooMany(path, values.length, maxValues)] : optionErrors(values, path, most)),
    ...(isListed ? [] : [invalidValue(path, initial, "default value is not valid according to the requestPolicy")]),
  ];
}

function optionErrors(values: readonly string[], path: string, most: string): FieldError[] {
  const keys = values.map((value) => String(wholeOf(value)));
  const isRepeated = repeatsIn(keys);
  return [
    ...firstErrors(values, (value, index) =>
      compareQuantities(value, most) > 0
        ? [invalidValue(`${path}[${index}]`, value, `option is larger than capacity value: ${most}`)]
        : [],
    ),
    ...firstErrors(keys, (key, index) => (isRepeated(index) ? [duplicateValue(`${path}[${index}]`, key)] : [])),
  ];
}

function rangeErrors(range: JsonObject, path: string, { initial, most }: Bounds): FieldError[] {
  const [min, max, step] = ["min", "max", "step"].map((name) => stringAt(range, [name])) as [string, string, string];
  if (min === "") return [requiredValue(`${path}.min`, "required when validRange is defined")];
  const above = (one: string, other: string): boolean => compareQuantities(one, other) > 0;
  const found: (readonly [boolean, string, string, string])[] = [
    [above(min, most), "min", min, `min is larger than capacity value: ${most}`],
    [above(min, initial), "min", initial, `default is less than min: ${min}`],
    [max !== "" && above(min, max), "max", min, `min is larger than max: ${max}`],
    [max !== "" && above(max, most), "max", max, `max is larger than capacity value: ${most}`],
    [max !== "" && above(initial, max), "max", initial, `default is more than max: ${max}`],
  ];
  return [
    ...found.flatMap(([isWrong, name, value, why]) => (isWrong ? [invalidValue(`${path}.${name}`, value, why)] : [])),
    ...(step === "" ? [] : stepErrors({ min, step, values: max === "" ? [initial] : [initial, max] }, path, most)),
  ];
}

interface Steps {
  readonly min: string;
  readonly step: string;
  readonly values: readonly string[];
}

function stepErrors({ min, step, values }: Steps, path: string, most: string): FieldError[] {
  const at = `${path}.step`;
  const first = quantityText(quantityNanos(min) + quantityNanos(step), min);
  const why = `value is not a multiple of a given step (${step}) from (${min})`;
  return [
    ...(compareQuantities(first, most) > 0
      ? [invalidValue(at, step, `one step ${first} is larger than capacity value: ${most}`)]
      : []),
    ...values.flatMap((value) =>
      wholeOf(step) !== 0n && (wholeOf(value) - wholeOf(min)) % wholeOf(step) !== 0n
        ? [invalidValue(at, value, why)]
        : [],
    ),
  ];
}

/** A quantity as a whole number, rounded away from zero. */
function wholeOf(quantity: string): bigint {
  const [nanos, one] = [quantityNanos(quantity), 1_000_000_000n];
  return nanos < 0n ? -((-nanos + one - 1n) / one) : (nanos + one - 1n) / one;
}
