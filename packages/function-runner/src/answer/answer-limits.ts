// SPDX-License-Identifier: Apache-2.0
import {
  type DecodeLimits,
  type EntryLimit,
  entryLimits,
  MatchLabels,
  Requirements,
  Resource,
  RunFunctionResponse,
  State,
} from "@purlin/function-protocol";

/**
 * How much a function may answer. This is the one place that defines the limits and their defaults. They are far above what an
 * API server can store for one composite resource (1.5 to 3 MiB), and low enough that no answer holds the event loop.
 */
export interface AnswerLimits {
  /** Bytes of the whole response. */
  readonly answerBytes: number;
  /** Desired composed resources. */
  readonly resources: number;
  /** Requirements: selectors of resources and of schemas together. */
  readonly requirements: number;
  readonly results: number;
  readonly conditions: number;
  /** Bytes of one object as it is sent: the desired composite resource, a composed resource, the context, the output. Also those of the connection details of one resource, and the characters of the messages of all conditions. */
  readonly objectBytes: number;
  /** Values in one object: members, list items and what they hold. */
  readonly objectValues: number;
  /** Characters of the name of a resource or a requirement, and of the type or reason of a condition or result. */
  readonly nameLength: number;
  /** Objects that one requirement of a function may select. */
  readonly selectedObjects: number;
}

/** As large as a request may be unless another limit is given. */
export const defaultMaxRequestBytes: number = 64 * 2 ** 20;

/** The limits that hold unless others are given. */
export const defaultAnswerLimits: AnswerLimits = {
  answerBytes: 64 * 2 ** 20,
  resources: 10_000,
  requirements: 5_000,
  results: 10_000,
  conditions: 1_000,
  objectBytes: 8 * 2 ** 20,
  objectValues: 100_000,
  nameLength: 1_024,
  selectedObjects: 10_000,
};

/** More fields than a response has whose maps and lists are all full. */
function maxFields({ resources, requirements, results, conditions }: AnswerLimits): number {
  return 50_000 + 12 * (resources + requirements) + 6 * (results + conditions);
}

/** A Secret has a few connection details, and a selector a few labels. */
const maxDetails = { most: 1_000, what: "connection details of one resource" };
const maxLabels = { most: 1_000, what: "labels in one selector" };

/** The names of the limits. */
export type AnswerLimitName = keyof AnswerLimits;

/** Whether a text is the name of a limit. */
export function isAnswerLimitName(name: string): name is AnswerLimitName {
  return Object.hasOwn(defaultAnswerLimits, name);
}

/** The limits that the decoder of responses checks while it reads. */
export function decodeLimitsOf(limits: AnswerLimits): DecodeLimits {
  const entries = (name: AnswerLimitName, what: string): EntryLimit => ({
    most: limits[name],
    what: `${what} ${limitText(name, limits)}`,
  });
  const selectors = entries("requirements", "requirements");
  return {
    fields: maxFields(limits),
    entries: new Map([
      ...entryLimits(State, { resources: entries("resources", "desired resources") }),
      ...entryLimits(Resource, { connectionDetails: maxDetails }),
      ...entryLimits(MatchLabels, { labels: maxLabels }),
      ...entryLimits(Requirements, { extraResources: selectors, resources: selectors, schemas: selectors }),
      ...entryLimits(RunFunctionResponse, {
        results: entries("results", "results"),
        conditions: entries("conditions", "conditions"),
      }),
    ]),
  };
}

/** How an error names a limit. */
export function limitText(name: AnswerLimitName, limits: AnswerLimits): string {
  return `(limit ${name}=${limits[name]})`;
}

/** How to raise a limit. */
export const raiseLimit = "raise the limit with --function-limit";

/** What to do about an answer that exceeds a limit. */
export const limitAdvice: string = `correct the function, or ${raiseLimit}`;
