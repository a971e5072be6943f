// SPDX-License-Identifier: Apache-2.0

import { all, type Check, eachItem, listAt, named, needed, within } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  notFoundValue,
  requiredValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { hostPath } from "../storage/volume-sources.ts";

const modeProblem = "must be a number between 0 and 0777 (octal), both inclusive";

function mode(name: string): Check {
  return (object, path) => {
    const value = memberAt(object, [name]);
    return typeof value === "number" && (value < 0 || value > 0o777)
      ? [invalidValue(`${path}.${name}`, value, modeProblem)]
      : [];
  };
}

/** A path that stays below where it starts. */
function descendingPath(path: string, at: string): FieldError[] {
  return [
    ...(path.startsWith("/") ? [invalidValue(at, path, "must be a relative path")] : []),
    ...(path.split("/").includes("..") ? [invalidValue(at, path, "must not contain '..'")] : []),
  ];
}

const item: Check = (object, path) => {
  const target = stringAt(object, ["path"]);
  return [
    ...needed("key")(object, path),
    ...(target === "" ? [requiredValue(`${path}.path`)] : descendingPath(target, `${path}.path`)),
    ...mode("mode")(object, path),
  ];
};
const files: Check = all(mode("defaultMode"), eachItem("items", item));

/** Sources of volumes with rules of their own here, in the order in which the reference looks at them. */
const sources: Readonly<Record<string, Check>> = {
  emptyDir: () => [],
  hostPath,
  nfs: all(needed("server"), needed("path")),
  secret: all(needed("secretName"), files),
  persistentVolumeClaim: needed("claimName"),
  configMap: all(needed("name"), files),
  downwardAPI: () => [],
  projected: mode("defaultMode"),
  csi: needed("driver"),
  ephemeral: () => [],
};

const source: Check = (volume, path) => {
  const given = Object.keys(volume).filter((name) => name !== "name" && isJsonObject(volume[name]));
  const known = [
    ...Object.keys(sources).filter((name) => given.includes(name)),
    ...given.filter((name) => !Object.hasOwn(sources, name)),
  ];
  return known.flatMap((name, index) =>
    index === 0
      ? within(name, sources[name] ?? (() => []))(volume, path)
      : [forbiddenValue(`${path}.${name}`, "may not specify more than 1 volume type")],
  );
};

/** What is wrong with the volumes of a Pod. */
export const volumes: Check = (spec, path) => {
  const seen = new Set<string>();
  return listAt(spec, "volumes").flatMap((volume, index) => {
    const at = `${path}.volumes[${index}]`;
    const name = stringAt(volume, ["name"]);
    const own = [...source(volume, at), ...named("name", dns1123LabelProblems)(volume, at)];
    const isTaken = seen.has(name);
    if (name !== "") seen.add(name);
    return isTaken ? [...own, duplicateValue(`${at}.name`, name)] : own;
  });
};

/** What is wrong with where a container finds volumes. */
export function volumeMounts(known: ReadonlySet<string>): Check {
  return (container, path) => {
    const taken = new Set<string>();
    return listAt(container, "volumeMounts").flatMap((mount, index) => {
      const at = `${path}.volumeMounts[${index}]`;
      const [name, where] = [stringAt(mount, ["name"]), stringAt(mount, ["mountPath"])];
      const isTaken = taken.has(where);
      taken.add(where);
      return [
        ...(name === "" ? [requiredValue(`${at}.name`)] : []),
        ...(known.has(name) ? [] : [notFoundValue(`${at}.name`, name)]),
        ...(where === "" ? [requiredValue(`${at}.mountPath`)] : []),
        ...(isTaken ? [invalidValue(`${at}.mountPath`, where, "must be unique")] : []),
        ...subPaths(mount, at, `${path}.volumeMounts`),
      ];
    });
  };
}

function subPaths(mount: JsonObject, at: string, list: string): FieldError[] {
  const [plain, expanded] = [stringAt(mount, ["subPath"]), stringAt(mount, ["subPathExpr"])];
  const both = "subPathExpr and subPath are mutually exclusive";
  return [
    ...(plain === "" ? [] : descendingPath(plain, `${list}.subPath`)),
    ...(plain !== "" && expanded !== "" ? [invalidValue(`${at}.subPathExpr`, expanded, both)] : []),
    ...(expanded === "" ? [] : descendingPath(expanded, `${list}.subPathExpr`)),
  ];
}
