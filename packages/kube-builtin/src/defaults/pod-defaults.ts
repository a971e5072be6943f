// SPDX-License-Identifier: Apache-2.0
// What a write adds to the spec of a Pod, and what it drops from it.
import { type KindRules, listAt } from "@purlin/kube-apiserver/kinds";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt, withMember } from "@purlin/kube-objects/object";
import { type Amounts, amountsAt, containerAmounts, isHugePages } from "../checks/resource-names.ts";
import { mostContainers } from "../pods/pod-spec.ts";
import { templateLists } from "../storage/volume-rules.ts";

/** Changes an object; gives the same one back when there is nothing to change. */
export type Edit = (object: JsonObject) => JsonObject;

/** Sets members that are absent. */
export function fill(defaults: JsonObject): Edit {
  return (object) => {
    const missing = Object.entries(defaults).filter(([name]) => object[name] === undefined || object[name] === null);
    return missing.length === 0 ? object : { ...object, ...Object.fromEntries(missing) };
  };
}

/** Edits a member that is an object. */
export function inside(name: string, edit: Edit): Edit {
  return (object) => {
    const member = object[name];
    if (!isJsonObject(member)) return object;
    const edited = edit(member);
    return edited === member ? object : { ...object, [name]: edited };
  };
}

/** Edits every item of a member that is a list. */
export function each(name: string, edit: Edit): Edit {
  return (object) => {
    const list = object[name];
    if (!isJsonArray(list)) return object;
    const edited = list.map((item: JsonValue) => (isJsonObject(item) ? edit(item) : item));
    return edited.every((item, index) => item === list[index]) ? object : { ...object, [name]: edited };
  };
}

/** One edit after the other. */
export function all(...edits: readonly Edit[]): Edit {
  return (object) => edits.reduce((edited, edit) => edit(edited), object);
}

/** Edits only where the condition holds. */
export function when(holds: (object: JsonObject) => boolean, edit: Edit): Edit {
  return (object) => (holds(object) ? edit(object) : object);
}

const fieldRef: Edit = inside("fieldRef", fill({ apiVersion: "v1" }));
const items: Edit = each("items", fieldRef);

const httpGet: Edit = inside("httpGet", all(fill({ path: "/", scheme: "HTTP" })));
const probe: Edit = all(
  httpGet,
  inside("grpc", fill({ service: "" })),
  fill({ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }),
);

/** The part of an image after its registry, without the tag. */
function repositoryOf(reference: string): string {
  const [first = "", ...rest] = reference.replace(/:[^/:]+$/, "").split("/");
  const isRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost" || /[A-Z]/.test(first));
  return isRegistry ? rest.join("/") : [first, ...rest].join("/");
}

/** Images with longer names cannot be parsed. */
const maxReference = 255;

/** A tag of latest, given or implied, is pulled every time. */
const pullPolicy: Edit = (container) => {
  if (container["imagePullPolicy"] !== undefined) return container;
  const image = String(container["image"] ?? "");
  const [reference = "", digest] = image.split("@");
  const tag = /:([^/:]+)$/.exec(reference)?.[1];
  // An image that cannot be parsed has no tag at all, not even an implied one.
  const repository = repositoryOf(reference);
  const isName =
    /^[a-z0-9][a-z0-9._/-]*$/.test(repository) && reference.length <= maxReference && !/::/.test(reference);
  const latest = digest === undefined && isName && (tag === undefined || tag === "latest");
  return { ...container, imagePullPolicy: latest ? "Always" : "IfNotPresent" };
};

/** The image of a volume is pulled by the same rule. */
const volumeImage: Edit = (source) => {
  const { imagePullPolicy } = pullPolicy({ image: source["reference"] ?? "" });
  return source["pullPolicy"] === undefined ? { ...source, pullPolicy: imagePullPolicy ?? "" } : source;
};

/** The members of several objects, the last of each name. One alone is not copied: it may be as large as a request. */
export function joined<T>(...parts: readonly Readonly<Record<string, T>>[]): Readonly<Record<string, T>> {
  const filled = parts.filter((part) => Object.keys(part).length > 0);
  return filled.length === 1 && filled[0] !== undefined ? filled[0] : Object.assign({}, ...filled);
}

/** What may be used is what is asked for, where only the limit is given. */
const requests: Edit = (resources) => {
  const limits = resources["limits"];
  if (!isJsonObject(limits)) return resources;
  const given = isJsonObject(resources["requests"]) ? resources["requests"] : {};
  return { ...resources, requests: joined(limits, given) };
};

function named(amounts: Amounts, isWanted: (name: string) => boolean): Amounts {
  const names = Object.keys(amounts).filter(isWanted);
  return Object.fromEntries(names.map((name) => [name, amounts[name] ?? "0"]));
}

/** The whole Pod gets limits of huge pages, and requests, from its containers, then requests from its limits. */
const podResources: Edit = (spec) => {
  const own = spec["resources"];
  if (!isJsonObject(own)) return spec;
  const [asked, may] = [amountsAt(own, ["requests"]), amountsAt(own, ["limits"])];
  if (Object.keys(asked).length + Object.keys(may).length === 0) return spec;
  const of = (member: "requests" | "limits", isShared: (name: string) => boolean): Amounts =>
    named(containerAmounts(spec, member), isShared);
  const limits = joined(
    of("limits", (name) => isHugePages(name) && asked[name] === undefined),
    may,
  );
  if (Object.keys(limits).length === 0) return spec;
  const isSupported = (name: string): boolean => ["cpu", "memory"].includes(name);
  const supported = named(limits, (name) => isSupported(name) || isHugePages(name));
  const requests = joined(supported, of("requests", isSupported), asked);
  return { ...spec, resources: { ...own, limits, ...(Object.keys(requests).length > 0 && { requests }) } };
};

/** Edits the containers of a list; of one that is too long and will be refused, none. */
const eachContainer = (name: string, edit: Edit): Edit =>
  when((spec) => listAt(spec, name).length <= mostContainers, each(name, edit));

const container: Edit = all(
  fill({ terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File", resources: {} }),
  pullPolicy,
  each("ports", fill({ protocol: "TCP" })),
  each(
    "env",
    inside(
      "valueFrom",
      all(
        fieldRef,
        inside("resourceFieldRef", fill({ divisor: "0" })),
        inside("fileKeyRef", fill({ optional: false })),
      ),
    ),
  ),
  inside("livenessProbe", probe),
  inside("readinessProbe", probe),
  inside("startupProbe", probe),
  inside("lifecycle", all(inside("postStart", httpGet), inside("preStop", httpGet))),
);

const sources = new Set(["name"]);

const volume: Edit = all(
  when((one) => Object.keys(one).every((key) => sources.has(key)), fill({ emptyDir: {} })),
  inside("secret", fill({ defaultMode: 420 })),
  inside("configMap", fill({ defaultMode: 420 })),
  inside("downwardAPI", all(fill({ defaultMode: 420 }), items)),
  inside(
    "projected",
    all(
      fill({ defaultMode: 420 }),
      each(
        "sources",
        all(inside("downwardAPI", items), inside("serviceAccountToken", fill({ expirationSeconds: 3600 }))),
      ),
    ),
  ),
  inside("hostPath", fill({ type: "" })),
  inside("ephemeral", inside("volumeClaimTemplate", inside("spec", fill({ volumeMode: "Filesystem" })))),
  inside("image", volumeImage),
  inside("iscsi", fill({ iscsiInterface: "default" })),
  inside("rbd", fill({ pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" })),
  inside("scaleIO", fill({ storageMode: "ThinProvisioned", fsType: "xfs" })),
  inside("azureDisk", fill({ cachingMode: "ReadWrite", fsType: "ext4", readOnly: false, kind: "Shared" })),
);

/** The two names of the service account are one field. */
const serviceAccount: Edit = (spec) => {
  const name = spec["serviceAccountName"] ?? spec["serviceAccount"];
  return name === undefined ? spec : { ...spec, serviceAccountName: name, serviceAccount: name };
};

/** Ports of a Pod on the host's network are the host's ports. */
const hostPorts: Edit = when(
  (spec) => spec["hostNetwork"] === true,
  each(
    "containers",
    each("ports", (port) =>
      port["hostPort"] === undefined ? { ...port, hostPort: port["containerPort"] ?? 0 } : port,
    ),
  ),
);

/** Defaults of a Pod's spec, in any kind. `isPod` for a Pod itself, whose requests are filled in too. */
export function podSpecDefaults({ isPod }: { readonly isPod: boolean }): Edit {
  const resources: Edit = isPod ? inside("resources", requests) : (one) => one;
  return all(
    fill({
      dnsPolicy: "ClusterFirst",
      restartPolicy: "Always",
      securityContext: {},
      terminationGracePeriodSeconds: 30,
      schedulerName: "default-scheduler",
    }),
    isPod ? fill({ enableServiceLinks: true }) : (spec: JsonObject) => spec,
    serviceAccount,
    // A template leaves them to the Pods that are made of it.
    isPod ? hostPorts : (spec: JsonObject) => spec,
    eachContainer("containers", all(container, resources)),
    eachContainer("initContainers", all(container, resources)),
    isPod ? podResources : (spec: JsonObject) => spec,
    eachContainer("ephemeralContainers", container),
    each("volumes", volume),
  );
}

/** Defaults of a Pod's template in a workload. */
export const podTemplateDefaults: Edit = inside("spec", podSpecDefaults({ isPod: false }));

/** A member that a write drops. */
function without(name: string): Edit {
  return (object) => {
    if (object[name] === undefined) return object;
    const { [name]: _dropped, ...rest } = object;
    return rest;
  };
}

const lifecycle: Edit = (container) => {
  const life = container["lifecycle"];
  if (!isJsonObject(life) || life["stopSignal"] === undefined) return container;
  const { stopSignal: _signal, ...rest } = life;
  return Object.keys(rest).length === 0 ? without("lifecycle")(container) : { ...container, lifecycle: rest };
};

/** Fields of features that the reference has off by default. */
const enabled: Edit = all(
  without("schedulingGroup"),
  ...["containers", "initContainers", "ephemeralContainers"].map((list) => each(list, lifecycle)),
  each("volumes", inside("projected", each("sources", all(without("clusterTrustBundle"), without("podCertificate"))))),
);

/** Lists that may not be set, not even to an empty one. */
const emptyLists: readonly string[] = [
  ...templateLists.map((name) => `volumes.*.ephemeral.volumeClaimTemplate.metadata.${name}`),
  "resources.claims",
  ...["ports", "resizePolicy", "restartPolicyRules", "resources.limits", "resources.requests", "resources.claims"].map(
    (name) => `ephemeralContainers.*.${name}`,
  ),
];

/** Rules that drop such fields of the Pod's spec at a path, and keep what counts although it is empty. */
export function withoutDisabledFields(...path: readonly string[]): Pick<KindRules, "withoutDisabled" | "keepsEmpty"> {
  return {
    keepsEmpty: emptyLists.map((list) => [...path, ...list.split(".")]),
    withoutDisabled: (object: JsonObject) => {
      const spec = memberAt(object, path);
      if (!isJsonObject(spec)) return object;
      const kept = enabled(spec);
      return kept === spec ? object : withMember(object, path, kept);
    },
  };
}
