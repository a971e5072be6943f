// SPDX-License-Identifier: Apache-2.0
import { isOciError } from "../content/oci-error.ts";
import type { RegistryRequest, RegistrySend } from "./registry-http.ts";
import { unreachable } from "./registry-retry.ts";
import { isTimeout } from "./request-limits.ts";

/** Finds out how to reach a registry: its base URL. */
export type RegistrySchemes = (registry: string, signal?: AbortSignal) => Promise<string>;

/**
 * HTTPS everywhere. A registry on loopback, or one the user calls insecure, may do without: it is asked once with TLS, and spoken to
 * in plain text when that is no TLS server.
 */
export function createSchemes(send: RegistrySend, insecure: readonly string[]): RegistrySchemes {
  const known = new Map<string, Promise<string>>();

  async function probe(registry: string, signal: AbortSignal | undefined): Promise<string> {
    const request: RegistryRequest = { method: "GET", url: new URL(`https://${registry}/v2/`), signal };
    try {
      const { body } = await send(request);
      body.destroy();
      return `https://${registry}`;
    } catch (error) {
      // One that hangs would hang in plain text, too: whoever speaks that refuses TLS at once.
      if (isTimeout(error)) throw unreachable(request, error);
      if (!isNotTls(error)) throw error;
      return `http://${registry}`;
    }
  }

  return async (registry, signal) => {
    if (!insecure.includes(registry) && !isLoopback(registry)) return `https://${registry}`;
    const asked = known.get(registry) ?? probe(registry, signal);
    known.set(registry, asked);
    return asked.catch((error: unknown) => {
      // One that could not be reached at all is asked again.
      known.delete(registry);
      if (isOciError(error, "unreachable")) throw error;
      return `http://${registry}`;
    });
  };
}

/** A server that does not speak TLS answers garbage, or hangs up. */
function isNotTls(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return code === "EPROTO" || code === "ECONNRESET" || code.startsWith("ERR_SSL");
}

/** Whether a registry's host can only be this machine. */
export function isLoopback(registry: string): boolean {
  const host = registry.replace(/:[0-9]+$/, "");
  return (
    host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(?:\.[0-9]{1,3}){3}$/.test(host)
  );
}
