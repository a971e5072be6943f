// SPDX-License-Identifier: Apache-2.0

export { simulatorRules } from "./simulator-rules.ts";
export { startWorkloadSimulator } from "./start-simulator.ts";
