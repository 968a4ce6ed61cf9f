//! The methods that the three counters share. They take keys by value, so using a key twice needs a
//! copy.

/// Implements everything but the shape of a step for a counter around an
/// [`Engine`](super::engine::Engine).
macro_rules! shared_methods {
    ($counter:ident, $lanes:pat, $shape:literal) => {
        shared_methods!($counter, $lanes, $shape, "");
    };
    ($counter:ident, $lanes:pat, $shape:literal, $refusal:literal) => {
        impl $counter {
            /// A counter before its first step.
            ///
            /// The key must be fresh: two counters of equal plans under one key share their noise,
            /// and the difference of their releases is exact.
            ///
            /// # Errors
            #[doc = concat!("[`Error::BadParameter`](crate::Error::BadParameter) unless the plan is for ", $shape, $refusal, ".")]
            pub fn new(plan: &Plan, key: NoiseKey) -> Result<Self> {
                Self::with_progress(plan, key, &())
            }

            /// Like `new`, with progress reports on long preparation of noise.
            ///
            /// # Errors
            /// As `new`.
            pub fn with_progress(plan: &Plan, key: NoiseKey, progress: &dyn Progress) -> Result<Self> {
                Self::check(plan)?;
                Ok(Self { engine: Engine::new(plan, &key, progress)? })
            }

            /// Keeps every released value for `interval`. Memory then grows with the steps taken.
            ///
            /// # Errors
            /// [`Error::BadParameter`](crate::Error::BadParameter) after the first step.
            pub fn remember_releases(mut self) -> Result<Self> {
                self.engine.remember()?;
                Ok(self)
            }

            /// The number of steps taken.
            #[must_use]
            pub fn steps_taken(&self) -> u64 {
                self.engine.steps_taken()
            }

            /// The plan that the counter follows.
            #[must_use]
            pub fn plan(&self) -> &Plan {
                self.engine.plan()
            }

            /// The state as bytes. It contains true totals: guard it like the data.
            #[must_use]
            pub fn save(&self) -> Vec<u8> {
                self.engine.save()
            }

            /// Resumes from a saved state. On the same machine, the releases are those of a counter
            /// that was never interrupted, bit for bit.
            ///
            /// Resume a state only once: two runs from one state release different totals
            /// under the same noise.
            ///
            /// # Errors
            /// [`Error::BadState`](crate::Error::BadState) if the state is damaged or belongs to
            /// another plan or key.
            pub fn resume(plan: &Plan, key: NoiseKey, state: &[u8]) -> Result<Self> {
                Self::check(plan)?;
                Ok(Self { engine: Engine::resume(plan, &key, state)? })
            }

            /// The same totals after the same number of steps, with fresh noise from here on. Use it
            /// if releases after this step may be known although the state is older, for example
            /// after a backup was restored.
            ///
            /// Either the plan has another stream name and is otherwise the counter's own
            /// ([`Plan::with_stream`]), or the key is another one. **It spends the plan's budget
            /// once more**: the releases before and after compose ([`Plan::spend`] twice). Noise is
            /// made from the first step on, in time proportional to the steps taken.
            ///
            /// # Errors
            /// [`Error::BadParameter`](crate::Error::BadParameter) for another plan, and if the
            /// noise would be the same.
            pub fn with_fresh_noise(&self, plan: &Plan, key: NoiseKey) -> Result<Self> {
                Ok(Self { engine: self.engine.with_fresh_noise(plan, &key)? })
            }

            fn check(plan: &Plan) -> Result<()> {
                match plan.shape() {
                    $lanes => Ok(()),
                    other => Err(crate::Error::bad("plan", concat!("for ", $shape), other.kind())),
                }
            }
        }

        impl std::fmt::Debug for $counter {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($counter))
                    .field("plan", self.plan())
                    .field("steps_taken", &self.steps_taken())
                    .finish_non_exhaustive()
            }
        }
    };
}
