// SPDX-License-Identifier: Apache-2.0
import { Counter, Histogram, type Registry } from "prom-client";
import { SeriesHistogram } from "./series-histogram.ts";

/** What a webhook did with a write. The type is that of its kind in the reference. */
export interface WebhookOutcome {
  readonly name: string;
  readonly type: "admit" | "validating";
  readonly operation: string;
  readonly seconds: number;
  /** The code of the response; 0 for an error of the server itself. */
  readonly code: number;
  /** Why the write was refused; undefined when it was not. */
  readonly refusal?: "no_error" | "calling_webhook_error" | "apiserver_internal_error" | undefined;
  /** The call failed, and the webhook allows that. */
  readonly isFailedOpen?: boolean;
}

/** What an expression of a policy did with a write. */
export interface PolicyOutcome {
  readonly policy: string;
  readonly binding: string;
  readonly seconds: number;
  readonly error: "no_error" | "compile_error" | "out_of_budget" | "invalid_error";
}

/** Whose match conditions are meant. */
export interface ConditionLabels {
  readonly name: string;
  readonly kind: "webhook" | "policy";
  readonly type: "admit" | "validate" | "validating";
  readonly operation: string;
}

/** Observes one step of the admission of a class of writes. */
export type ObserveStep = (seconds: number, isRejected: boolean) => void;

type Step = "admit" | "validate";

const stepBuckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const conditionBuckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const expressionBuckets = [0.0000005, 0.001, 0.01, 0.1, 1];
const latency = "latency in seconds, by type (validate or admit), operation, and whether it rejected the request.";

/** The number of webhooks, policies and bindings that have series of their own. Series stay, and users may create any number of these. */
const mostNames = 1000;

/** Counts and times admission as the reference does, under the same names and labels. */
export class AdmissionMetrics {
  readonly #steps = new SeriesHistogram({
    name: "apiserver_admission_step_admission_duration_seconds",
    summary: "apiserver_admission_step_admission_duration_seconds_summary",
    help: `Admission step ${latency}`,
    labelNames: ["operation", "rejected", "type"],
    buckets: stepBuckets,
  });
  readonly #controllers = new SeriesHistogram({
    name: "apiserver_admission_controller_admission_duration_seconds",
    help: `Admission plugin ${latency}`,
    labelNames: ["name", "operation", "rejected", "type"],
    buckets: stepBuckets,
  });
  readonly #webhooks: Histogram<"name" | "operation" | "rejected" | "type">;
  readonly #requests: Counter<"code" | "name" | "operation" | "rejected" | "type">;
  readonly #rejections: Counter<"error_type" | "name" | "operation" | "rejection_code" | "type">;
  readonly #failedOpen: Counter<"name" | "type">;
  readonly #conditions: ConditionMetrics;
  readonly #validations: PolicyMetrics<"enforcement_action">;
  readonly #mutations: PolicyMetrics<never>;
  readonly #names = new Set<string>();

  constructor(registry: Registry) {
    const registers = [registry];
    const prefix = "apiserver_admission_webhook";
    this.#webhooks = new Histogram({
      name: `${prefix}_admission_duration_seconds`,
      help: `Admission webhook ${latency}`,
      labelNames: ["name", "operation", "rejected", "type"],
      buckets: [...stepBuckets, 10, 25],
      registers,
    });
    this.#requests = new Counter({
      name: `${prefix}_request_total`,
      help: "Requests to admission webhooks by response code. Codes above 600 are counted as 600.",
      labelNames: ["code", "name", "operation", "rejected", "type"],
      registers,
    });
    this.#rejections = new Counter({
      name: `${prefix}_rejection_count`,
      help: "Requests that admission webhooks rejected, by code, and by the error that caused it.",
      labelNames: ["error_type", "name", "operation", "rejection_code", "type"],
      registers,
    });
    this.#failedOpen = new Counter({
      name: `${prefix}_fail_open_count`,
      help: "Calls of admission webhooks that failed and were ignored.",
      labelNames: ["name", "type"],
      registers,
    });
    this.#conditions = conditionMetrics(registry);
    this.#validations = policyMetrics(registry, "validating", ["enforcement_action"]);
    this.#mutations = policyMetrics(registry, "mutating", []);
  }

  /** The metrics that are not in the registry, as text for Prometheus. */
  text(): string {
    return this.#steps.text() + this.#controllers.text();
  }

  /** The whole mutating or validating step of a class of writes. */
  step(type: Step, operation: string): ObserveStep {
    return observer((rejected) => this.#steps.series(operation, rejected, type));
  }

  /** A plugin in a step of a class of writes. */
  controller(name: string, type: Step, operation: string): ObserveStep {
    return observer((rejected) => this.#controllers.series(name, operation, rejected, type));
  }

  /** The value of a label for a name; `other` when too many names have been seen. */
  #named(name: string): string {
    if (this.#names.size < mostNames) this.#names.add(name);
    return this.#names.has(name) ? name : "other";
  }

  webhook({ type, operation, seconds, refusal, isFailedOpen, ...outcome }: WebhookOutcome): void {
    const name = this.#named(outcome.name);
    const code = String(Math.min(outcome.code, 600));
    const rejected = String(refusal !== undefined);
    this.#requests.inc({ code, name, operation, rejected, type });
    this.#webhooks.observe({ name, operation, rejected, type }, seconds);
    if (refusal !== undefined) {
      this.#rejections.inc({ error_type: refusal, name, operation, rejection_code: code, type });
    }
    if (isFailedOpen) this.#failedOpen.inc({ name, type });
  }

  /** Observes match conditions that do not all hold. Those that hold are not counted, as in the reference. */
  conditions({ kind, name, operation, type }: ConditionLabels): (seconds: number, errors: number) => void {
    const labels = { kind, name: this.#named(name), operation, type };
    return (seconds, errors) => {
      this.#conditions.seconds.observe(labels, seconds);
      if (errors > 0) this.#conditions.errors.inc(labels, errors);
    };
  }

  /** A webhook was not called because of its match conditions. */
  excluded({ kind, name, operation, type }: ConditionLabels): void {
    this.#conditions.exclusions.inc({ kind, name: this.#named(name), operation, type });
  }

  /** A validation that failed, or that could not be evaluated. Validations that hold are not counted, as in the reference. */
  validation(outcome: PolicyOutcome, action: "allow" | "audit" | "deny" | "warn"): void {
    observePolicy(this.#validations, { ...this.#policyLabels(outcome), enforcement_action: action }, outcome.seconds);
  }

  mutation(outcome: PolicyOutcome): void {
    observePolicy(this.#mutations, this.#policyLabels(outcome), outcome.seconds);
  }

  #policyLabels({ policy, binding, error }: PolicyOutcome): PolicyLabels {
    return { error_type: error, policy: this.#named(policy), policy_binding: this.#named(binding) };
  }
}

function observer(seriesOf: (rejected: string) => (value: number) => void): ObserveStep {
  const [admitted, rejected] = [seriesOf("false"), seriesOf("true")];
  return (seconds, isRejected) => (isRejected ? rejected : admitted)(seconds);
}

type ConditionLabel = keyof ConditionLabels;

interface ConditionMetrics {
  readonly seconds: Histogram<ConditionLabel>;
  readonly errors: Counter<ConditionLabel>;
  readonly exclusions: Counter<ConditionLabel>;
}

function conditionMetrics(registry: Registry): ConditionMetrics {
  const prefix = "apiserver_admission_match_condition";
  const labelNames = ["kind", "name", "operation", "type"] as const;
  const common = { labelNames, registers: [registry] };
  return {
    seconds: new Histogram({
      name: `${prefix}_evaluation_seconds`,
      help: "Time of evaluations of match conditions that did not all hold, in seconds.",
      buckets: conditionBuckets,
      ...common,
    }),
    errors: new Counter({
      name: `${prefix}_evaluation_errors_total`,
      help: "Match conditions of webhooks and policies that could not be evaluated.",
      ...common,
    }),
    exclusions: new Counter({
      name: `${prefix}_exclusions_total`,
      help: "Webhooks that were not called because of their match conditions.",
      ...common,
    }),
  };
}

type PolicyLabel = "error_type" | "policy" | "policy_binding";

interface PolicyMetrics<L extends string> {
  readonly checks: Counter<PolicyLabel | L>;
  readonly seconds: Histogram<PolicyLabel | L>;
}

function policyMetrics<L extends string>(registry: Registry, what: string, more: readonly L[]): PolicyMetrics<L> {
  const prefix = `apiserver_${what}_admission_policy_check`;
  const common = { labelNames: ["error_type", "policy", "policy_binding", ...more] as const, registers: [registry] };
  return {
    checks: new Counter({ name: `${prefix}_total`, help: `Checks by ${what} admission policies.`, ...common }),
    seconds: new Histogram({
      name: `${prefix}_duration_seconds`,
      help: `Latency of single expressions of ${what} admission policies in seconds.`,
      buckets: expressionBuckets,
      ...common,
    }),
  };
}

type PolicyLabels = Readonly<Record<PolicyLabel, string>>;

function observePolicy<L extends string>(
  { checks, seconds }: PolicyMetrics<L>,
  labels: Readonly<Record<PolicyLabel | L, string>>,
  elapsed: number,
): void {
  checks.inc(labels);
  seconds.observe(labels, elapsed);
}
