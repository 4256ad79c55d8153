//! Times at which exchanges were begun elsewhere, as a file of queries has them.

use std::path::Path;

/// Times since the first (s), over and over.
#[derive(Debug, PartialEq)]
pub struct Recorded {
    times: Vec<f64>,
    /// After which they begin again: the last one, and a mean distance.
    period: f64,
}

impl Recorded {
    /// Read the last word of each line, `@SECONDS`; `;` and `#` begin comments.
    pub fn open(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
        Self::from_lines(&text).map_err(|why| format!("{}{why}", path.display()))
    }

    fn from_lines(text: &str) -> Result<Self, String> {
        let mut times: Vec<f64> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.trim_start().starts_with([';', '#']) {
                continue;
            }
            let last = times.last().copied().unwrap_or(0.0);
            let (_, word) = without_time(line);
            let time = word
                .and_then(|word| word.parse().ok())
                .filter(|time: &f64| time.is_finite() && *time >= last);
            times.push(time.ok_or_else(|| {
                format!(
                    ":{}: found {:?}, expected @SECONDS at its end, {last} or more",
                    number + 1,
                    line.trim()
                )
            })?);
        }
        let first = times.first().copied().unwrap_or(0.0);
        times.iter_mut().for_each(|time| *time -= first);
        let (count, last) = (times.len() as f64, times.last().copied().unwrap_or(0.0));
        if last <= 0.0 {
            return Err(": found one time, expected several".into());
        }
        Ok(Self { times, period: last * count / (count - 1.0) })
    }

    fn at(&self, number: u64) -> f64 {
        let count = self.times.len() as u64;
        (number / count) as f64 * self.period + self.times[(number % count) as usize]
    }

    /// When an exchange is due of `count` that begin in so many seconds, the distances of all
    /// shortened alike; None for a later one.
    pub fn due_s(&self, number: u64, count: u64, seconds: f64) -> Option<f64> {
        let whole = self.at(count).max(f64::MIN_POSITIVE);
        // The last may be together with the first that is not due any more.
        let due = || (self.at(number) / whole * seconds).min(seconds - 1e-6).max(0.0);
        (number < count).then(due)
    }

    /// The most of them that are due within a time.
    pub fn most_within(&self, time: f64, count: u64, seconds: f64) -> u64 {
        let window = time / seconds * self.at(count);
        let mut first = 0;
        let within = |number| {
            while self.at(number) - self.at(first) > window {
                first += 1;
            }
            number - first + 1
        };
        (0..count).map(within).max().unwrap_or(0)
    }
}

/// A line of a file of queries without its time, and the time after the `@`.
pub fn without_time(line: &str) -> (&str, Option<&str>) {
    let line = line.trim();
    line.rsplit_once(char::is_whitespace)
        .and_then(|(rest, word)| Some((rest.trim(), Some(word.strip_prefix('@')?))))
        .unwrap_or((line, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: &str = "a A @7\n; none\nb A @7\nc A @7.5\nd UPDATE e @11\ne A @11\n";

    #[test]
    fn distances_stay_and_their_sum_is_the_time() {
        let recorded = Recorded::from_lines(FIVE).unwrap();
        let due = |count, seconds| -> Vec<_> {
            (0..=count).map_while(|number| recorded.due_s(number, count, seconds)).collect()
        };
        assert_eq!(due(5, 5.0), [0.0, 0.0, 0.5, 4.0, 4.0]);
        assert_eq!(due(5, 2.5), [0.0, 0.0, 0.25, 2.0, 2.0]);
        assert_eq!(due(10, 10.0)[5..], [5.0, 5.0, 5.5, 9.0, 9.0]);
        // Of less than all of them the last is still in time.
        assert_eq!(due(4, 8.0).len(), 4);
        assert!(due(4, 8.0)[3] < 8.0);
        assert_eq!(due(1, 3.0), [0.0]);
    }

    #[test]
    fn what_comes_together_is_counted() {
        let recorded = Recorded::from_lines(FIVE).unwrap();
        assert_eq!(recorded.most_within(0.1, 5, 5.0), 2);
        assert_eq!(recorded.most_within(0.5, 5, 5.0), 3);
        assert_eq!(recorded.most_within(1.0, 10, 10.0), 4);
    }

    #[test]
    fn a_line_without_a_time_is_named() {
        for (text, error) in [
            ("a A @1\nb A\n", ":2: found \"b A\", expected @SECONDS at its end, 1 or more"),
            ("a A @1\nb A @0.5\n", ":2: found"),
            ("a A @inf\n", ":1: found"),
            ("a A @1\nb A @1\n", ": found one time"),
            ("", ": found one time"),
        ] {
            let wrong = Recorded::from_lines(text).expect_err(text);
            assert!(wrong.starts_with(error), "{text}: {wrong}");
        }
    }
}
