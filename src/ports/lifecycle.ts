/** Something to start with the agent and to close with it. Never called concurrently with itself. */
export interface Lifecycle {
  /** Names it in errors. */
  readonly name?: string;
  /** Called once, in registration order; a throw shuts down what had started, in reverse order, and fails the composition. */
  onStart?(): Promise<void>;
  /** Called at most once, in reverse order, also when others fail; failures are aggregated. */
  onShutdown(): Promise<void>;
}
