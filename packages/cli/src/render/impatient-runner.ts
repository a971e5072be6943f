// SPDX-License-Identifier: Apache-2.0
import type { FunctionRunner, FunctionTarget } from "@purlin/function-runner";
import type { ClientCertificates } from "../function-call/client-certificates.ts";
import { parseTarget } from "../function-call/parse-target.ts";
import { type ProbeAdvice, probeTarget } from "../function-call/probe-target.ts";
import type { Io } from "../io.ts";

/** A function that runs has answered by then, and nobody needs to knock at its door. */
const probeAfterMs = 250;
/** Who is merely slow gets the time to say so. */
const probeForMs = 20_000;

/** Rejects, with what to do about it, when a function cannot be reached. */
export type Probe = (target: FunctionTarget) => Promise<void>;

/**
 * A runner waits for a function to come up, as a control plane should; a person at a terminal should not have to. When an
 * answer is late, somebody looks whether there is anybody to answer.
 */
export function impatient(next: FunctionRunner, probe: Probe): FunctionRunner {
  return {
    async run(target, request, call) {
      const { promise: unreachable, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => void probe(target).catch(reject), probeAfterMs);
      try {
        return await Promise.race([next.run(target, request, call), unreachable]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

const targetAdvice: ProbeAdvice = {
  nobodyListens: 'check the port, or start the function with "purlin function run"',
  noHost: "check the name",
  servesTls: "start it with --insecure, for development functions are called in plaintext",
  servesPlaintext: "",
};

/** Knocks at the door of functions under development. Those that render runs itself are known to be there. */
export function probeDevelopment({ signal }: Io): Probe {
  return async ({ endpoint, plaintext = false }) => {
    if (!plaintext) return;
    await probeTarget(parseTarget(endpoint), { tls: undefined, timeoutMs: probeForMs, signal, advice: targetAdvice });
  };
}

const revisionAdvice: ProbeAdvice = {
  nobodyListens: "see that its control plane runs, and get its FunctionRevision anew",
  noHost: "functions of a cluster are called from inside the cluster",
  servesTls: "give --tls-client-certs-dir DIR",
  servesPlaintext: "leave --tls-client-certs-dir out",
};

/** Knocks at the door of FunctionRevisions. */
export function probeRevision(certificates: ClientCertificates | undefined, { signal, names }: Io): Probe {
  return async ({ endpoint }) => {
    const tls = certificates && { identity: certificates.security.current(), directory: certificates.directory };
    const options = { tls, timeoutMs: probeForMs, signal, advice: revisionAdvice, names };
    await probeTarget(parseTarget(endpoint), options);
  };
}
