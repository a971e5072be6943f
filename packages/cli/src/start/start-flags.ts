// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../commands/command-spec.ts";

/** The options of `purlin start`. Those Crossplane has as well mean the same and have the same defaults. */
export const startFlags: readonly OptionSpec[] = [
  { flags: "--kubeconfig <file>", description: "the API server to work on (in a Pod: that of its own cluster)" },
  { flags: "--context <name>", description: "another context of the kubeconfig than the current one" },
  {
    flags: "-n, --namespace <name>",
    description: "where packages run, and where the leader's Lease is ($POD_NAMESPACE, or crossplane-system)",
  },
  { flags: "-s, --sync-interval <duration>", description: "how often every object is looked at again", default: "1h" },
  {
    flags: "--poll-interval <duration>",
    description: "how often composite resources are looked at where no watch wakes them",
    default: "1m",
  },
  {
    flags: "--min-poll-interval <duration>",
    description: "the shortest poll interval a composite resource may ask for",
    default: "1s",
  },
  {
    flags: "--max-concurrent-reconciles <n>",
    description: "how many objects each controller works on at the same time",
    default: "100",
  },
  { flags: "--max-reconcile-rate <n>", description: "the older name of --max-concurrent-reconciles" },
  {
    flags: "--max-concurrent-package-establishers <n>",
    description: "how many objects of a package are written at the same time",
    default: "10",
  },
  {
    flags: "--circuit-breaker-burst <n>",
    description: "watch events a composite resource may get at once before it is shielded from them",
    default: "100",
  },
  {
    flags: "--circuit-breaker-refill-rate <n>",
    description: "watch events a second it may get in the long run",
    default: "1",
  },
  { flags: "--circuit-breaker-cooldown <duration>", description: "how long it is shielded at least", default: "5m" },
  {
    flags: "--enable-realtime-compositions <bool>",
    description: "wake composite resources when what they composed or required changes",
    default: "true",
  },
  { flags: "--enable-ssa-claims <bool>", description: "sync claims by server-side apply", default: "true" },
  {
    flags: "--accept-other-claim-versions",
    description: "after a change of a claim's version, go on with composite resources bound in the old one",
  },
  {
    flags: "--enable-function-revision-selectors",
    description: "several revisions of a function at once, and pipeline steps that choose (alpha)",
  },
  {
    flags: "--package-runtime <runtime>",
    description:
      "who runs packages: Deployment, External, or by kind, Provider=…;Function=… ($PACKAGE_RUNTIME, or Deployment)",
  },
  {
    flags: "--service-account <name>",
    description: "the control plane's own: packages may be pulled with its secrets ($POD_SERVICE_ACCOUNT)",
  },
  {
    flags: "--xpkg-cache-dir <dir>",
    description: "where package contents are kept ($XPKG_CACHE_DIR, or purlin/xpkg in this user's cache)",
  },
  {
    flags: "--enable-dependency-version-upgrades",
    description: "upgrade dependencies whose version violates a constraint (alpha)",
  },
  {
    flags: "--enable-dependency-version-downgrades",
    description: "downgrade them, too, where nothing higher will do (alpha)",
  },
  {
    flags: "--enable-function-response-cache",
    description: "keep the responses of functions for as long as they allow (alpha)",
  },
  { flags: "--xfn-cache-dir <dir>", description: "where responses are kept ($XFN_CACHE_DIR, or /cache/xfn)" },
  { flags: "--xfn-cache-max-ttl <duration>", description: "the longest a response is kept", default: "24h" },
  {
    flags: "--allow-development-functions",
    description: "call functions in plaintext where their annotations say; whoever may edit a Function sees all data",
  },
  {
    flags: "--tls-client-certs-dir <dir>",
    description:
      "tls.crt, tls.key and ca.crt to call functions with ($TLS_CLIENT_CERTS_DIR, or Secret crossplane-tls-client)",
  },
  { flags: "--metrics-address <address>", description: "where /metrics is served; 0 for nowhere", default: ":8080" },
  {
    flags: "--health-address <address>",
    description: "where /healthz and /readyz are served; 0 for nowhere",
    default: ":8081",
  },
];
