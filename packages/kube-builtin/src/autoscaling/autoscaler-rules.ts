// SPDX-License-Identifier: Apache-2.0
// The rules of HorizontalPodAutoscalers. They apply to the second version, whose form both versions are stored in.
import { all, type Check, eachItem, type KindRules, listAt, named, within } from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
import { containerResourceErrors } from "../checks/resource-names.ts";
import { exactlyOneOf, hasObject, notNegativeAt, optionallyOneOf, pathSegmentProblems } from "../checks/rule-checks.ts";

/** A reference to the object that is scaled or measured. */
function reference({ needsGroup }: { readonly needsGroup: boolean }): Check {
  return all(named("kind", pathSegmentProblems), named("name", pathSegmentProblems), (one, path) => {
    const version = stringAt(one, ["apiVersion"]);
    const at = `${path}.apiVersion`;
    if (version.split("/").length > 2) return [invalidValue(at, version, `unexpected GroupVersion string: ${version}`)];
    const isCore = stringAt(one, ["kind"]) === "ReplicationController" && version === "v1";
    const hasGroup = version.indexOf("/") > 0;
    return hasGroup || isCore || !needsGroup ? [] : [invalidValue(at, version, "apiVersion must specify API group")];
  });
}

const positive: Check = (target, path) =>
  ["value", "averageValue"].flatMap((name) => {
    const amount = memberAt(target, [name]);
    return typeof amount === "string" && compareQuantities(amount, "0") <= 0
      ? [invalidValue(`${path}.${name}`, amount, "must be positive")]
      : [];
  });

const targetTypes = ["Utilization", "Value", "AverageValue"];

const target: Check = all(
  (one, path) => {
    const type = stringAt(one, ["type"]);
    const why = "must be either Utilization, Value, or AverageValue";
    return [
      ...(type === "" ? [requiredValue(`${path}.type`, "must specify a metric target type")] : []),
      ...(targetTypes.includes(type) ? [] : [invalidValue(`${path}.type`, type, why)]),
    ];
  },
  positive,
  (one, path) => {
    const value = memberAt(one, ["averageUtilization"]);
    return typeof value === "number" && value < 1
      ? [invalidValue(`${path}.averageUtilization`, value, "must be greater than 0")]
      : [];
  },
);

const metricName: Check = (metric, path) => {
  const name = stringAt(metric, ["name"]);
  if (name === "") return [requiredValue(`${path}.name`, "must specify a metric name")];
  return pathSegmentProblems(name).map((problem) => invalidValue(`${path}.name`, name, problem));
};

const has = (object: JsonObject, name: string): boolean => (object[name] ?? null) !== null;

/** Which members of a target a source needs, and which exclude each other. */
function targets(check: (target: JsonObject, path: string) => FieldError[]): Check {
  return (source, path) => {
    const own = objectAt(source, ["target"]);
    return [...target(own, `${path}.target`), ...check(own, `${path}.target`)];
  };
}

const identified: Check = (source, path) => metricName(objectAt(source, ["metric"]), `${path}.metric`);

const resourceTarget = targets((own, path) => {
  const both = "may not set both a target raw value and a target utilization";
  const none = "must set either a target raw value or a target utilization";
  const [percent, value] = [has(own, "averageUtilization"), has(own, "averageValue")];
  return [
    ...(percent || value ? [] : [requiredValue(`${path}.averageUtilization`, none)]),
    ...(percent && value ? [forbiddenValue(`${path}.averageValue`, both)] : []),
  ];
});

const objectTarget = targets((own, path) =>
  has(own, "value") || has(own, "averageValue")
    ? []
    : [requiredValue(`${path}.averageValue`, "must set either a target value or averageValue")],
);

const externalTarget = targets((own, path) => {
  const [value, average] = [has(own, "value"), has(own, "averageValue")];
  const none = "must set either a target value for metric or a per-pod target";
  const both = "may not set both a target value for metric and a per-pod target";
  return [
    ...(value || average ? [] : [requiredValue(`${path}.averageValue`, none)]),
    ...(value && average ? [forbiddenValue(`${path}.value`, both)] : []),
  ];
});

const podsTarget = targets((own, path) =>
  has(own, "averageValue")
    ? []
    : [requiredValue(`${path}.averageValue`, "must specify a positive target averageValue")],
);

const resourceName: Check = (source, path) =>
  stringAt(source, ["name"]) === "" ? [requiredValue(`${path}.name`, "must specify a resource name")] : [];

const container: Check = (source, path) => {
  const [name, own] = [stringAt(source, ["name"]), stringAt(source, ["container"])];
  return [
    ...(name === "" ? [] : containerResourceErrors(name, `${path}.name`)),
    ...(own === "" ? [requiredValue(`${path}.container`, "must specify a container")] : []),
    ...(own === "" ? [] : dns1123LabelProblems(own).map((text) => invalidValue(`${path}.container`, own, text))),
  ];
};

/** The sources of metrics, in the order in which the reference validates them. */
const sources: Readonly<Record<string, Check>> = {
  object: all(
    (source, path) =>
      reference({ needsGroup: false })(objectAt(source, ["describedObject"]), `${path}.describedObject`),
    identified,
    objectTarget,
  ),
  external: all(identified, externalTarget),
  pods: all(identified, podsTarget),
  resource: all(resourceName, resourceTarget),
  containerResource: all(resourceName, container, resourceTarget),
};
const sourceTypes = ["ContainerResource", "External", "Object", "Pods", "Resource"];

const metric: Check = (one, path) => {
  const type = stringAt(one, ["type"]);
  const isKnown = sourceTypes.includes(type);
  const own = isKnown ? type.slice(0, 1).toLowerCase() + type.slice(1) : "";
  const present = Object.keys(sources).filter((name) => hasObject(one, name));
  const [first] = present;
  const unknown = unsupportedValue(`${path}.type`, type, sourceTypes);
  const missing = "must populate information for the given metric source";
  const others = present.length === 1 ? [] : present.filter((name) => name !== own);
  return [
    ...(type === "" ? [requiredValue(`${path}.type`, "must specify a metric source type")] : []),
    ...(isKnown ? [] : [unknown]),
    ...(first === undefined ? [] : (sources[first]?.(objectAt(one, [first]), `${path}.${first}`) ?? [])),
    ...(isKnown ? [] : [unknown]),
    ...(isKnown && !present.includes(own) ? [requiredValue(`${path}.${own}`, missing)] : []),
    ...others.map((name) => forbiddenValue(`${path}.${name}`, "must populate the given metric source only")),
  ];
};

const maxPeriod = 1800;
const maxWindow = 3600;

const policy: Check = all(exactlyOneOf("type", ["Percent", "Pods"]), (one, path) => {
  const [value, period] = [numberAt(one, ["value"]), numberAt(one, ["periodSeconds"])];
  const at = `${path}.periodSeconds`;
  return [
    ...(value <= 0 ? [invalidValue(`${path}.value`, value, "must be greater than zero")] : []),
    ...(period <= 0 ? [invalidValue(at, period, "must be greater than zero")] : []),
    ...(period > maxPeriod ? [invalidValue(at, period, `must be less than or equal to ${maxPeriod}`)] : []),
  ];
});

const scalingRules: Check = all(
  (rules, path) => {
    const [seconds, at] = [memberAt(rules, ["stabilizationWindowSeconds"]), `${path}.stabilizationWindowSeconds`];
    if (typeof seconds !== "number") return [];
    return [
      ...(seconds < 0 ? [invalidValue(at, seconds, "must be greater than or equal to zero")] : []),
      ...(seconds > maxWindow ? [invalidValue(at, seconds, `must be less than or equal to ${maxWindow}`)] : []),
    ];
  },
  optionallyOneOf("selectPolicy", ["Disabled", "Max", "Min"]),
  (rules, path) =>
    listAt(rules, "policies").length === 0
      ? [requiredValue(`${path}.policies`, "must specify at least one Policy")]
      : [],
  eachItem("policies", policy),
  (rules, path) => {
    const tolerance = memberAt(rules, ["tolerance"]);
    return typeof tolerance === "string" && compareQuantities(tolerance, "0") < 0
      ? [invalidValue(`${path}.tolerance`, tolerance, "must be greater than or equal to 0")]
      : [];
  },
);

const replicas: Check = (spec, path) => {
  const [least, most] = [memberAt(spec, ["minReplicas"]), numberAt(spec, ["maxReplicas"])];
  const isAboveMost = typeof least === "number" && most < least;
  const at = `${path}.maxReplicas`;
  return [
    ...(typeof least === "number" && least < 1
      ? [invalidValue(`${path}.minReplicas`, least, "must be greater than or equal to 1")]
      : []),
    ...(most === 0 ? [requiredValue(at, "must be set and greater than 0")] : []),
    ...(most < 0 ? [invalidValue(at, most, "must be greater than or equal to 1")] : []),
    ...(isAboveMost ? [invalidValue(at, most, "must be greater than or equal to `minReplicas`")] : []),
  ];
};

const noMetrics: Check = (spec, path) => {
  const types = listAt(spec, "metrics").map((one) => stringAt(one, ["type"]));
  const why = "must specify at least one Object or External metric to support scaling to zero replicas";
  const isServed = types.includes("Object") || types.includes("External");
  return memberAt(spec, ["minReplicas"]) === 0 && !isServed ? [forbiddenValue(`${path}.metrics`, why)] : [];
};

/** The errors of a HorizontalPodAutoscaler in the form of version 2. */
function autoscalerErrors(object: JsonObject): readonly FieldError[] {
  const spec = all(
    replicas,
    (own, path) => reference({ needsGroup: true })(objectAt(own, ["scaleTargetRef"]), `${path}.scaleTargetRef`),
    eachItem("metrics", metric),
    noMetrics,
    within("behavior", all(within("scaleUp", scalingRules), within("scaleDown", scalingRules))),
  );
  return spec(objectAt(object, ["spec"]), "spec");
}

/** The rules of HorizontalPodAutoscalers. `toSecond` converts an object of another version. */
export function autoscalerRules(toSecond: (object: JsonObject) => JsonObject = (object) => object): KindRules {
  return {
    validate: (object) => autoscalerErrors(toSecond(object)),
    validateChange: (object, _old, endpoint) =>
      endpoint === "status"
        ? notNegativeAt("currentReplicas", "desiredReplicas")(objectAt(object, ["status"]), "status")
        : [],
  };
}
