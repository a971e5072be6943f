// SPDX-License-Identifier: Apache-2.0
// Parts of a CRD, where one of our kinds describes another kind.
import {
  atomicMap,
  checked,
  choice,
  describeFields,
  type Fields,
  free,
  integer32,
  listOf,
  mapOf,
  nameRef,
  object,
  text,
} from "@purlin/kube-controller";
import type { Schema } from "@purlin/kube-objects/schema";

/** Names of a kind. */
export const crdNames: Schema = describeFields(
  object({
    categories: listOf(text, "atomic"),
    "kind*": text,
    listKind: text,
    "plural*": text,
    shortNames: listOf(text, "atomic"),
    singular: text,
  }),
  {
    categories: "Groups of kinds that list this one as well, such as all in kubectl get all.",
    kind: "Name of the kind in CamelCase, as in the kind field of objects.",
    listKind: "Kind of a list of objects; the kind followed by List by default.",
    plural: "Plural name in lower case: the last part of URLs and of the CRD's name.",
    shortNames: "Abbreviations in lower case that kubectl accepts.",
    singular: "Singular name in lower case; the lower-case kind by default.",
  },
);

/** The names with the rules that the API server checks only when it gets the CRD. */
export function lowercase(names: Schema): Schema {
  return checked(names, {
    "self.plural == self.plural.lowerAscii()": "Plural name must be lowercase",
    "!has(self.singular) || self.singular == self.singular.lowerAscii()": "Singular name must be lowercase",
  });
}

/** How objects are converted between versions. */
export const conversion: Schema = describeFields(
  object({
    "strategy*": text,
    webhook: object({
      clientConfig: object({
        caBundle: { type: "string", format: "byte" },
        service: object({ "name*": text, "namespace*": text, path: text, port: integer32 }),
        url: text,
      }),
      "conversionReviewVersions*": listOf(text, "atomic"),
    }),
  }),
  {
    strategy: "None changes only apiVersion between versions; Webhook asks a webhook to convert.",
    webhook: "The webhook that converts objects. Required when strategy is Webhook.",
    "webhook.clientConfig": "How to reach the webhook: a service or a url.",
    "webhook.clientConfig.caBundle": "PEM certificates of the authority that signed the webhook's server certificate.",
    "webhook.clientConfig.service": "The Service of a webhook inside the cluster.",
    "webhook.clientConfig.service.name": "Name of the Service.",
    "webhook.clientConfig.service.namespace": "Namespace of the Service.",
    "webhook.clientConfig.service.path": "URL path to send requests to.",
    "webhook.clientConfig.service.port": "Port of the Service; 443 by default.",
    "webhook.clientConfig.url": "URL of a webhook outside the cluster.",
    "webhook.conversionReviewVersions": "Versions of ConversionReview that the webhook understands, preferred first.",
  },
);

/** A label selector. */
export const labelSelector: Schema = atomicMap(
  describeFields(
    object({
      matchExpressions: listOf(object({ "key*": text, "operator*": text, values: listOf(text, "atomic") }), "atomic"),
      matchLabels: mapOf(),
    }),
    {
      matchExpressions: "Requirements that the labels must all meet.",
      "matchExpressions.key": "Key of the label.",
      "matchExpressions.operator": "In, NotIn, Exists or DoesNotExist.",
      "matchExpressions.values": "Values for In and NotIn; empty for the other operators.",
      matchLabels: "Labels that an object must have, with exactly these values.",
    },
  ),
);

/** A column of `kubectl get`. */
export const printerColumn: Schema = describeFields(
  object({
    description: text,
    format: text,
    "jsonPath*": text,
    "name*": text,
    priority: integer32,
    "type*": text,
  }),
  {
    description: "What the column shows, for people.",
    format: "OpenAPI format of the values, such as date-time.",
    jsonPath: "Where the value is in an object, such as .spec.size.",
    name: "Title of the column.",
    priority: "0 for columns that are always shown, higher for those of kubectl get -o wide.",
    type: "OpenAPI type of the values: string, integer, number, boolean or date.",
  },
);

/** Where `kubectl scale` finds its numbers. */
export const scale: Schema = describeFields(
  object({
    labelSelectorPath: text,
    "specReplicasPath*": text,
    "statusReplicasPath*": text,
  }),
  {
    labelSelectorPath: "Path of the selector of what is scaled, such as .status.selector.",
    specReplicasPath: "Path of the desired number of replicas, such as .spec.replicas.",
    statusReplicasPath: "Path of the observed number of replicas, such as .status.replicas.",
  },
);

/** The group of definitions, compositions and their revisions. */
export const apiextensionsGroup = "apiextensions.crossplane.io";
/** The group of Usage and ClusterUsage. */
export const protectionGroup = "protection.crossplane.io";
/** The group of operations. */
export const opsGroup = "ops.crossplane.io";

/** What all of our kinds answer to in `kubectl get crossplane`. */
export const crossplaneCategory = "crossplane";

const input: Schema = { ...free, "x-kubernetes-embedded-resource": true };

const credential: Schema = object({
  "name*": text,
  secretRef: object({ "name*": text, "namespace*": text }),
  "source*": choice("None", "Secret"),
});

const credentialRule = { "self.source == 'Secret' && has(self.secretRef)": "the Secret source requires a secretRef" };

const requirements: Schema = object({
  requiredResources: listOf(
    checked(
      object({
        "apiVersion*": text,
        "kind*": text,
        matchLabels: mapOf(),
        name: text,
        namespace: text,
        "requirementName*": text,
      }),
      { "!(has(self.name) && has(self.matchLabels))": "name and matchLabels are mutually exclusive" },
    ),
    { mapBy: "requirementName" },
  ),
  requiredSchemas: listOf(object({ "apiVersion*": text, "kind*": text, "requirementName*": text }), {
    mapBy: "requirementName",
  }),
});

function stepFields(credentials: Schema): Fields {
  return { credentials: listOf(credentials, { mapBy: "name" }), input, requirements, "step*": text };
}

/** Selects one of several revisions of a function that are active at the same time. */
const functionSelection: Fields = {
  function: {
    ...text,
    maxLength: 512,
    pattern: "^[^\\.\\/]+(\\.[^\\.\\/]+)+(\\/[^\\/:@]+)+(:[^:@]+)?@sha256:[0-9a-f]{64}$",
  },
  functionRef: nameRef,
  functionRevisionRef: object({ "name*": { ...text, minLength: 1 } }),
  functionRevisionSelector: object({
    "matchLabels*": checked(
      { ...mapOf(), minProperties: 1 },
      { "!('pkg.crossplane.io/package' in self)": "matchLabels must not contain pkg.crossplane.io/package" },
    ),
  }),
};

const resourceName: Schema = { ...text, minLength: 1, maxLength: 253 };
const moveComposite: Schema = object({ "apiVersion*": resourceName, "kind*": resourceName, name: resourceName });

/** A composed resource that got another name in the pipeline, or another composite resource. */
const move: Schema = object({
  "from*": resourceName,
  "to*": resourceName,
  fromComposite: moveComposite,
  toComposite: moveComposite,
});

const moveRules = {
  "!(has(self.fromComposite) && has(self.toComposite))": "fromComposite and toComposite are mutually exclusive",
  "self.from != self.to || has(self.fromComposite) || has(self.toComposite)": "from and to must be different names",
};

const functionSelectionRules = {
  "has(self.functionRef) != has(self.function)": "exactly one of functionRef and function is required",
  "!(has(self.functionRevisionRef) && has(self.functionRevisionSelector))":
    "functionRevisionRef and functionRevisionSelector are mutually exclusive",
  "!has(self.function) || (!has(self.functionRevisionRef) && !has(self.functionRevisionSelector))":
    "function cannot be combined with functionRevisionRef or functionRevisionSelector",
};

function compositionStepWith(oneMove: Schema): Schema {
  const moved = { ...listOf(oneMove, "atomic"), maxItems: 64 };
  const fields = { ...stepFields(checked(credential, credentialRule)), ...functionSelection, moved };
  return checked(object(fields), functionSelectionRules);
}

/** A step of a Composition's pipeline. */
export const compositionStep: Schema = compositionStepWith(checked(move, moveRules));

/** A step of a CompositionRevision, whose Composition was checked. Its pipeline has no limit, so rules for each move would cost too much. */
export const revisionStep: Schema = compositionStepWith(move);

/** A step of an Operation's pipeline. */
export const operationStep: Schema = object({ ...stepFields(credential), "functionRef*": nameRef });
