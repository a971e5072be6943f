// SPDX-License-Identifier: Apache-2.0
// Why the API server or the control plane refuses a composed resource.
import { groupOf, type KubeObject, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { ago, argumentOf, composedRefs, resourceName } from "../inspect/facts.ts";
import { found, type Recognized, rule, type TextContext, type TextRule } from "../inspect/inspection.ts";
import type { ObjectRef } from "../model/explanation.ts";
import { eventRule, refusedResource } from "./resource-events.ts";

const namespaceType = { apiVersion: "v1", kind: "Namespace" } as const;
const mrdType = { apiVersion: "apiextensions.crossplane.io/v1alpha1", kind: "ManagedResourceDefinition" } as const;

/** The composed resource in a message, or the object that is reconciled. */
function resourceIn({ text, object }: TextContext): string {
  const name = /composed resource "([^"]+)"/.exec(text)?.[1];
  return name === undefined ? `${object.kind} ${object.metadata.name ?? ""}` : `Resource "${name}"`;
}

/** The composed resource in a message, if it exists. */
async function composedObject({ text, object, inspection }: TextContext): Promise<ObjectRef | undefined> {
  const name = /composed resource "([^"]+)"/.exec(text)?.[1];
  for (const ref of name === undefined ? [] : composedRefs(object)) {
    const found = await inspection.reader.find(ref);
    if (found !== undefined && resourceName(found) === name) return ref;
  }
  return undefined;
}

/** E41: a namespace is missing or terminating. */
const namespace = rule(
  /namespaces? "([^"]+)" not found|in namespace (\S+) because it is being terminated/,
  async ([, absent, ending], context) => {
    const name = absent ?? ending ?? "";
    const read = await context.inspection.reader.read({ ...namespaceType, name });
    if (read.state === "found") {
      const { deletionTimestamp, creationTimestamp } = read.object.metadata;
      if (!deletionTimestamp) return { healed: `Namespace ${name} not found`, at: creationTimestamp };
      return found("E41", context, {
        sentence: `Namespace ${name} is being deleted, since ${ago(deletionTimestamp, context.inspection.now)}`,
        next: [`wait until it is deleted and create it again, or see kubectl describe namespace ${name}`],
      });
    }
    return found("E41", context, {
      sentence: `${resourceIn(context)} is in namespace ${name}, which does not exist`,
      next: [`kubectl create namespace ${name}, or correct the namespace in the function`],
    });
  },
);

/** E38: a policy denies the request. */
const webhookDenied = rule(
  /admission webhook "([^"]+)" denied the request:? ?([\s\S]*)$|ValidatingAdmissionPolicy '([^']+)'.* denied request: ([\s\S]*)$/,
  ([, webhook, why, policy, denial], context) => {
    const denier = webhook === undefined ? `ValidatingAdmissionPolicy ${policy ?? ""}` : `Admission webhook ${webhook}`;
    return found("E38", context, {
      sentence: `${denier} denies ${resourceIn(context)}: ${why ?? denial ?? ""}`,
      next: [`change the resource as the policy requires, or ask the owner of ${webhook ?? policy ?? ""}`],
    });
  },
);

/** E58: a resource that is no longer desired is in use. */
const inUse = rule(
  /webhook "nousages\.protection\.crossplane\.io" denied the request: This resource is in-use by (\d+) usage\(s\), including the \*v1beta1\.(\w+) "([^"]+)"(?: \(in namespace "([^"]+)"\))?(?: by resource (\S+?)\.| with reason: "(.*)"\.)?/,
  ([, count, kind = "", name = "", namespaceName, user, reason], context) => {
    const more = count === "1" ? "" : `, one of ${count},`;
    const why = user === undefined ? (reason ?? "it is in use") : `${user} uses it`;
    const at = namespaceName === undefined ? name : `${namespaceName}/${name}`;
    const flag = namespaceName === undefined ? "" : ` -n ${namespaceName}`;
    const plural = kind === "Usage" ? "usages.protection.crossplane.io" : "clusterusages.protection.crossplane.io";
    return found("E58", context, {
      sentence: `${resourceIn(context)} cannot be deleted: ${kind} ${at}${more} says that ${why}`,
      next: [`delete the object that uses it first, or the ${kind}: purlin delete ${plural}/${name}${flag}`],
    });
  },
);

/** E39: a webhook does not respond. */
const webhookDown = rule(
  /failed calling webhook "([^"]+)": ([\s\S]*)$/,
  async ([, webhook = "", why = ""], context) => {
    const service = await webhookService(webhook, context);
    const of = service === undefined ? "" : ` (Service ${service})`;
    return found("E39", context, {
      sentence: `Webhook ${webhook}${of} does not respond: ${why}`,
      next: [
        service === undefined
          ? "check the Service of the webhook"
          : `kubectl get endpoints ${service.replace(/^(.*)\/(.*)$/, "$2 -n $1")}`,
      ],
    });
  },
);

async function webhookService(webhook: string, { inspection }: TextContext): Promise<string | undefined> {
  for (const kind of ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]) {
    const all = (await inspection.reader.list({ apiVersion: "admissionregistration.k8s.io/v1", kind })) ?? [];
    for (const one of all.flatMap((configuration) => objectsAt(configuration, ["webhooks"]))) {
      if (stringAt(one, ["name"]) !== webhook) continue;
      const name = stringAt(one, ["clientConfig", "service", "name"]);
      return name === "" ? undefined : `${stringAt(one, ["clientConfig", "service", "namespace"])}/${name}`;
    }
  }
  return undefined;
}

/** E40: a quota or a limit. */
const quota = rule(
  /exceeded quota: ([^,]+), requested: (.*?), used: (.*?), limited: ([^:]*)|((?:maximum|minimum) \S+ (?:usage )?per (?:Container|Pod|PersistentVolumeClaim)[^:]*)/,
  ([, name, requested, used, limited, limit], context) => {
    const sentence =
      limit === undefined
        ? `Quota ${name ?? ""} is exceeded by ${resourceIn(context)}: requested ${requested ?? ""}, used ${used ?? ""}, limited to ${limited ?? ""}`
        : `A LimitRange refuses ${resourceIn(context)}: ${limit}`;
    return found("E40", context, {
      sentence,
      next: [
        limit === undefined
          ? `raise ResourceQuota ${name ?? ""}, or request less`
          : "change the LimitRange, or request less",
      ],
    });
  },
);

const composingVerbs = "get, list, watch, create, update, patch, delete";

/** E37: the control plane lacks permissions. */
const rbac = rule(
  /([^\s[]+) is not allowed to \[([^\]]*)\] resource ([\w.-]+)\/(\w+)(?: in namespace (\S+?))?\]?$|User "([^"]+)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/,
  (match, context) => {
    const [, who, verbs, what, , place, user, verb, resource, group, where] = match;
    const subject = who ?? user ?? "the control plane";
    const denied = verbs ?? verb ?? "";
    const type = what ?? (group ? `${resource}.${group}` : (resource ?? ""));
    const namespaceName = place ?? where;
    const [plural = "", ...rest] = type.split(".");
    // The API server names the first verb that it denies; the others would be denied one after the other.
    const granted = verbs ?? composingVerbs;
    return found("E37", context, {
      sentence: `${subject} is not allowed to [${denied}] ${type}${namespaceName === undefined ? "" : ` in namespace ${namespaceName}`}`,
      next: [
        `kubectl create clusterrole purlin-${plural} --verb=${granted.replaceAll(" ", "")} --resource=${type} && kubectl label clusterrole purlin-${plural} rbac.crossplane.io/aggregate-to-crossplane=true`,
        `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: purlin-${plural}, labels: {rbac.crossplane.io/aggregate-to-crossplane: "true"}}\nrules:\n- {apiGroups: ["${rest.join(".")}"], resources: ["${plural}"], verbs: [${granted}]}`,
      ],
    });
  },
);

/** E42: the object belongs to another controller. */
const conflict = rule(
  /refusing to delete composed resource "([^"]+)" that is controlled by (\S+ "[^"]+")|Only one reference can have Controller set to true\.? ?([\s\S]*)$|already controlled by another (?:object|controller)?:? ?([\s\S]*)$/,
  ([, name, owner, references, other], context) => {
    const owners = /for (\S+) and (\S+)/.exec(references ?? "");
    const whose = owner ?? (owners === null ? (other ?? "") : (owners[1] ?? ""));
    const resource = name === undefined ? resourceIn(context) : `Resource "${name}"`;
    return found("E42", context, {
      sentence: `${resource} belongs to another controller${whose.trim() === "" ? "" : `: ${whose.trim().replaceAll('"', "")}`}`,
      next: ["give the resource another metadata.name in the function"],
    });
  },
);

/** E43: a name or scope that cannot be applied. */
const nameOrScope = rule(
  /RFC 1123|cannot apply cluster scoped composed resource .*|composed resources "[^"]+" and "[^"]+" are the same object.*|is the composite resource itself|an? [^\s:]+ is namespaced, and the function set no namespace|metadata\.name: Invalid value/s,
  ([text = ""], context) => {
    const name = /(?:metadata\.name: Invalid value:|an invalid name) "([^"]*)"/.exec(context.text)?.[1];
    const sentence =
      name === undefined
        ? `${resourceIn(context)}: ${/^(RFC|metadata)/.test(text) ? context.text : text.replace(/^cannot apply /, "")}`
        : `${resourceIn(context)} has the invalid name "${name}"`;
    return found("E43", context, {
      ...(name === undefined ? {} : { path: "metadata.name" }),
      sentence,
      next: [
        // Operations, for one, are cluster scoped.
        text.includes("cluster scoped composed resource")
          ? "compose it by a composite resource whose XRD has the scope Cluster"
          : "correct metadata.name, metadata.namespace or the kind in the function",
      ],
    });
  },
);

/** E44: a field that cannot change. */
const immutable = rule(
  /field is immutable|Forbidden: updates to|cannot be (?:changed|updated)|is immutable|may not be changed/,
  async (_, context) => {
    const path = /((?:[\w-]+|\[[^\]]*\])(?:\.[\w-]+|\[[^\]]*\])*): (?:Invalid value|Forbidden)/.exec(context.text)?.[1];
    const object = await composedObject(context);
    return found("E44", context, {
      ...(path === undefined ? {} : { path }),
      sentence: `${resourceIn(context)}: ${path ?? "a field"} cannot change`,
      next: [
        object === undefined
          ? "undo the change, or delete the object so that it is created again"
          : `undo the change, or let the object be created again: purlin delete ${argumentOf(object)}`,
      ],
    });
  },
);

/** E45: the status of the composite resource. */
const statusRejected = rule(/cannot apply composite resource status: ([\s\S]*)$/, ([, why = ""], context) => {
  const path = /(status[\w.[\]]*): /.exec(why)?.[1] ?? /\.(status[\w.[\]]*): field not declared/.exec(why)?.[1];
  return found("E45", context, {
    ...(path === undefined ? {} : { path }),
    sentence: `The API server refuses the status that the functions set: ${why}`,
    next: [
      path !== undefined && why.includes("field not declared in schema")
        ? `add ${path} to the schema of the XRD, or leave it out of the function`
        : "correct the status schema of the XRD, or the step that sets the field",
    ],
  });
});

/** E35: the kind is not served. */
const kindNotServed = rule(
  /no matches for kind "([^"]+)" in version "([^"]+)"/,
  async ([, kind = "", apiVersion = ""], context) => {
    const { reader } = context.inspection;
    // Objects of the kind may not exist, so a list does not show whether it is served: a read of one object does.
    const { namespace: own = "default" } = context.object.metadata;
    const read = await reader.read({ apiVersion, kind, name: "any", namespace: own });
    const definitions = (await reader.list(mrdType)) ?? [];
    const inactive = definitions.find(
      (one) => isFor(one, kind, apiVersion) && stringAt(one, ["spec", "state"]) !== "Active",
    );
    if (inactive !== undefined) return inactiveKind(context, inactive, kind);
    if (read.state === "found" || (read.state === "missing" && read.isKindServed))
      return { healed: `${kind} (${apiVersion}) is not served`, at: undefined };
    return found("E35", context, {
      sentence: `The API server does not serve ${kind} (${apiVersion})`,
      next: ["install the CRD or the provider of the kind, or correct the function"],
    });
  },
);

function inactiveKind(context: TextContext, { metadata }: KubeObject, kind: string): Recognized {
  return found("E35", context, {
    sentence: `The API server does not serve ${kind}: ManagedResourceDefinition ${metadata.name ?? ""} is inactive`,
    next: [`activate ${metadata.name ?? ""} in a ManagedResourceActivationPolicy`],
  });
}

function isFor(definition: KubeObject, kind: string, apiVersion: string): boolean {
  return (
    stringAt(definition, ["spec", "names", "kind"]) === kind &&
    stringAt(definition, ["spec", "group"]) === groupOf(apiVersion)
  );
}

/** Recognizes why a request about an object was refused. The order matters: most are also `forbidden` or `invalid`. */
const refusalRules: readonly TextRule[] = [
  namespace,
  inUse,
  webhookDenied,
  webhookDown,
  quota,
  statusRejected,
  conflict,
  nameOrScope,
  immutable,
  rbac,
  kindNotServed,
];

/** Recognizes why resources could not be applied. */
export const resourceRules: readonly TextRule[] = [...refusalRules, eventRule(refusalRules), refusedResource];
