// SPDX-License-Identifier: Apache-2.0
import { type AdmissionPlugin, metaOf, type Store } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, withMember } from "@purlin/kube-objects/object";

/** How a kind of objects gets the default one of its classes. */
interface DefaultClass {
  readonly name: string;
  readonly group: string;
  readonly resource: string;
  /** Where the store keeps the classes. */
  readonly classes: string;
  /** The annotations that make a class the default. */
  readonly annotations: readonly string[];
  /** The member of the spec that names the class. */
  readonly member: string;
  /** The annotation that named the class in the past. */
  readonly oldName: string;
}

/** New objects that name no class get the newest default class. */
function defaultClass(store: Store<JsonObject>, kind: DefaultClass): AdmissionPlugin {
  const isDefault = (entry: JsonObject): boolean => {
    const annotations = metaOf(entry).annotations ?? {};
    return kind.annotations.some((name) => annotations[name] === "true");
  };
  const path = ["spec", kind.member];
  return {
    name: kind.name,
    handles: ({ operation, type, subresource }) =>
      operation === "CREATE" && type.group === kind.group && type.resource === kind.resource && subresource === "",
    admit: ({ object }) => {
      const isNamed = memberAt(object, path) !== undefined || metaOf(object).annotations?.[kind.oldName] !== undefined;
      if (isNamed) return object;
      const [newest] = store
        .list({ prefix: kind.classes })
        .entries.map(({ value }) => value)
        .filter(isDefault)
        .sort((a, b) => byAge(metaOf(a), metaOf(b)));
      return newest === undefined ? object : withMember(object, path, metaOf(newest).name ?? "");
    },
  };
}

/** The storage class of a new claim that names none. */
export function defaultStorageClass(store: Store<JsonObject>): AdmissionPlugin {
  return defaultClass(store, {
    name: "DefaultStorageClass",
    group: "",
    resource: "persistentvolumeclaims",
    classes: "/storage.k8s.io/storageclasses/",
    annotations: ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"],
    member: "storageClassName",
    oldName: "volume.beta.kubernetes.io/storage-class",
  });
}

/** The class of a new Ingress that names none. */
export function defaultIngressClass(store: Store<JsonObject>): AdmissionPlugin {
  return defaultClass(store, {
    name: "DefaultIngressClass",
    group: "networking.k8s.io",
    resource: "ingresses",
    classes: "/networking.k8s.io/ingressclasses/",
    annotations: ["ingressclass.kubernetes.io/is-default-class"],
    member: "ingressClassName",
    oldName: "kubernetes.io/ingress.class",
  });
}

interface Aged {
  readonly creationTimestamp?: string | null | undefined;
  readonly name?: string | undefined;
}

function byAge(one: Aged, other: Aged): number {
  const [a, b] = [one.creationTimestamp ?? "", other.creationTimestamp ?? ""];
  if (a !== b) return a < b ? 1 : -1;
  return (one.name ?? "") < (other.name ?? "") ? -1 : 1;
}
