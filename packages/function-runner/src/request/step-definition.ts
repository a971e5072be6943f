// SPDX-License-Identifier: Apache-2.0

/** A pipeline step as a Composition or Operation declares it: the part that shapes its requests. */
export type StepDefinition = {
  /** The step's name. */
  readonly step: string;
  /** An object; absent or null for none. */
  readonly input?: unknown;
  readonly credentials?: readonly StepCredentials[] | undefined;
  readonly requirements?: StepRequirements | undefined;
};

/** A secret the step hands to its function. */
type StepCredentials = {
  readonly name: string;
  /** Only `Secret` hands over anything. */
  readonly source: string;
  readonly secretRef?: { readonly namespace: string; readonly name: string } | undefined;
};

/** What the function gets with its first call, without having asked. */
type StepRequirements = {
  readonly requiredResources?: readonly BootstrapResources[] | undefined;
  readonly requiredSchemas?: readonly BootstrapSchema[] | undefined;
};

/** Resources by name or by labels, or all of a kind. A name wins over labels. */
export type BootstrapResources = {
  readonly requirementName: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
};

/** The schema of a kind. */
type BootstrapSchema = {
  readonly requirementName: string;
  readonly apiVersion: string;
  readonly kind: string;
};
