// SPDX-License-Identifier: Apache-2.0
// Which nodes can use the devices of a ResourceSlice.
import { type Check, listAt } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidPrinted, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt } from "@purlin/kube-objects/object";
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
