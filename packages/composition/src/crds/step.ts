// SPDX-License-Identifier: Apache-2.0
import { checked, choice, type Fields, free, listOf, mapOf, nameRef, object, text } from "@purlin/kube-controller";
import type { Schema } from "@purlin/kube-objects/schema";

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
