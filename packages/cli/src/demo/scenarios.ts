// SPDX-License-Identifier: Apache-2.0
import type { CrossplaneLine } from "@purlin/function-runner";

/** One call of the demo. */
export interface Scenario {
  readonly title: string;
  readonly story: string;
  /** A file in the example's folder of requests. */
  readonly request: string;
  readonly asCrossplane?: CrossplaneLine;
}

/** The story the demo tells: one claim from its first mistake to the end, and the same on an older control plane. */
export const scenarios: readonly Scenario[] = [
  {
    title: "Image not found",
    story: "The claim shop/web asks for the image team/app:v9. The registry has no such image.",
    request: "image-not-found.yaml",
  },
  {
    title: "Progressing",
    story: "Its user corrects the image to team/app:v1. The Deployment exists, but is not available yet.",
    request: "progressing.yaml",
  },
  {
    title: "Success",
    story: "The Deployment has become available.",
    request: "success.yaml",
  },
  {
    title: "The same on an older control plane",
    story: "Crossplane v1.17 has no schemas to offer and cannot say so. The function notices and falls back.",
    request: "success.yaml",
    asCrossplane: "v1.17",
  },
];

/** What to do after the demo, from the repository's root. */
export const nextSteps: readonly { readonly command: string; readonly what: string }[] = [
  {
    command: "npx purlin function run examples/image-ready/src/function.ts --insecure",
    what: "Serve the function. Edit it and save: it reloads.",
  },
  {
    command:
      "npx purlin function call --target localhost:9443 --insecure --request examples/image-ready/requests/success.yaml --required-resources examples/image-ready/resources --crds examples/image-ready/crds",
    what: "While it serves, call it from another terminal and read the whole response.",
  },
  {
    command: "npx purlin function init my-function",
    what: "Start a function of your own.",
  },
];
