// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { ApiRequest, ApiResponse, CompleteResponse, StreamResponse } from "../request/api-request.ts";
import type { RequestTarget } from "../request/request-target.ts";
import { AdmissionMetrics } from "./admission-metrics.ts";

const whereLabels = ["group", "resource", "scope", "subresource", "verb", "version"] as const;
const secondsBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const bytesBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/** Counts and times requests as the reference does, under the same names. */
export class RequestMetrics {
  /** Where Prometheus reads them. */
  readonly registry: Registry = new Registry();
  /** The part of admission. */
  readonly admission: AdmissionMetrics = new AdmissionMetrics(this.registry);
  /** The part of the rules of custom resources. */
  readonly rules: RuleMetrics = new RuleMetrics(this.registry);
  readonly #total = new Counter({
    name: "apiserver_request_total",
    help: "Number of requests by verb, dry run, group, version, resource, scope, component and response code.",
    labelNames: ["code", "component", "dry_run", ...whereLabels],
    registers: [this.registry],
  });
  readonly #seconds = new Histogram({
    name: "apiserver_request_duration_seconds",
    help: "Response latency in seconds by verb, dry run, group, version, resource, subresource, scope and component.",
    labelNames: ["component", "dry_run", ...whereLabels],
    buckets: secondsBuckets,
    registers: [this.registry],
  });
  readonly #bytes = new Histogram({
    name: "apiserver_response_sizes",
    help: "Response size in bytes by group, version, verb, resource, subresource, scope and component.",
    labelNames: ["component", ...whereLabels],
    buckets: bytesBuckets,
    registers: [this.registry],
  });
  readonly #watches = new Gauge({
    name: "apiserver_longrunning_requests",
    help: "Number of open watches by verb, group, version, resource, scope and component.",
    labelNames: ["component", ...whereLabels],
    registers: [this.registry],
  });
  readonly #inFlight = new Gauge({
    name: "apiserver_current_inflight_requests",
    help: "Number of requests in progress, excluding watches, by request kind (mutating or readOnly).",
    labelNames: ["request_kind"],
    registers: [this.registry],
  });
  readonly #isServed: (target: RequestTarget) => boolean;
  readonly #now: () => number;

  /** Requests for kinds that are not served are counted without a name: clients could send any number of names. */
  constructor(isServed: (target: RequestTarget) => boolean, now: () => number) {
    this.#isServed = isServed;
    this.#now = now;
  }

  /** Called when a request begins; what it gives is called with the answer, and gives the answer to send. */
  begin(request: ApiRequest, target: RequestTarget): (response: ApiResponse) => ApiResponse {
    const started = this.#now();
    const kind = request.method === "GET" || request.method === "HEAD" ? "readOnly" : "mutating";
    this.#inFlight.inc({ request_kind: kind });
    return (response) => {
      this.#inFlight.dec({ request_kind: kind });
      const where = whereOf(request, this.#isServed(target) ? target : undefined);
      const dryRun = request.query.get("dryRun") === null ? "" : "All";
      const end = (): void => {
        this.#total.inc({ code: String(response.code), dry_run: dryRun, ...where });
        this.#seconds.observe({ dry_run: dryRun, ...where }, (this.#now() - started) / 1000);
      };
      if (response.kind === "stream") return this.#watched(response, where, end);
      end();
      return this.#sized(response, where);
    };
  }

  #sized(response: CompleteResponse, where: Where): CompleteResponse {
    const { payload } = response;
    if (payload === undefined) return response;
    const observed = (made: readonly Uint8Array[]): readonly Uint8Array[] => {
      const size = made.reduce((sum, chunk) => sum + chunk.length, 0);
      this.#bytes.observe({ ...where }, size);
      return made;
    };
    const rendering = payload.rendering?.bind(payload);
    return {
      ...response,
      payload: {
        contentType: payload.contentType,
        chunks: () => observed(payload.chunks()),
        ...(rendering !== undefined && {
          *rendering() {
            return observed(yield* rendering());
          },
        }),
        value: () => payload.value(),
      },
    };
  }

  #watched(response: StreamResponse, where: Where, end: () => void): StreamResponse {
    const labels = { ...where };
    const open: StreamResponse["open"] = (onReady) => {
      this.#watches.inc(labels);
      const stream = response.open(onReady);
      let isOpen = true;
      const ended = (): void => {
        if (!isOpen) return;
        isOpen = false;
        this.#watches.dec(labels);
        end();
      };
      const take: typeof stream.take = () => {
        const events = stream.take();
        if (events === undefined) ended();
        return events;
      };
      return {
        take,
        close: () => {
          ended();
          stream.close();
        },
      };
    };
    return { ...response, open };
  }
}

interface Where {
  readonly component: string;
  readonly group: string;
  readonly resource: string;
  readonly scope: string;
  readonly subresource: string;
  readonly verb: string;
  readonly version: string;
}

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

function whereOf({ method, headers }: ApiRequest, target: RequestTarget | undefined): Where {
  const verb = methods.has(method) ? method : "other";
  const nowhere = { component: "", group: "", resource: "", scope: "", subresource: "", version: "" };
  if (target === undefined) return { ...nowhere, verb };
  if (target.kind === "path") return { ...nowhere, subresource: target.path.slice(1), verb };
  const { group, version, resource, subresource, namespace, name } = target;
  const isApply = (headers["content-type"] ?? "").startsWith("application/apply-patch");
  return {
    component: "apiserver",
    group,
    version,
    resource,
    subresource,
    scope:
      name !== "" && target.verb !== "list" && target.verb !== "watch"
        ? "resource"
        : namespace === ""
          ? "cluster"
          : "namespace",
    verb: verbs[target.verb] ?? (isApply ? "APPLY" : verb),
  };
}

const verbs: Readonly<Record<string, string>> = {
  list: "LIST",
  watch: "WATCH",
  deletecollection: "DELETECOLLECTION",
};

/** Times the rules of custom resources as the reference does, under the same names. */
export class RuleMetrics {
  readonly #compilations: Histogram;
  readonly #evaluations: Histogram;

  constructor(registry: Registry) {
    const histogram = (name: string, help: string): Histogram =>
      new Histogram({ name: `apiserver_cel_${name}_duration_seconds`, help, buckets, registers: [registry] });
    this.#compilations = histogram("compilation", "CEL compilation time in seconds.");
    this.#evaluations = histogram("evaluation", "CEL evaluation time in seconds.");
  }

  /** Observes the compilation of the rules of a schema. */
  compiling<T>(work: Work<T>): Work<T> {
    return timing(work, this.#compilations);
  }

  /** Observes the evaluation of the rules for an object. */
  evaluating<T>(work: Work<T>): Work<T> {
    return timing(work, this.#evaluations);
  }
}

/** Observes the seconds that work takes, without what other requests do between its parts. */
function* timing<T>(work: Work<T>, histogram: Histogram): Work<T> {
  let busy = 0;
  for (;;) {
    const started = performance.now();
    const step = work.next();
    busy += performance.now() - started;
    if (step.done) {
      histogram.observe(busy / 1000);
      return step.value;
    }
    yield step.value;
  }
}

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
