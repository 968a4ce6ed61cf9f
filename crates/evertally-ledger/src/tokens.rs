//! Tokens: who may do what.
//!
//! A bearer is `evt_ID_SECRET`, with 64 bits of a public number and 256 secret ones from the
//! operating system. The ledger keeps a hash of the secret. Secrets are long and random, so that a
//! fast hash serves; hashes are compared in constant time, and an unknown id is compared too.

use crate::error::{Error, Result};
use crate::record::TokenRow;
use std::fmt;
use zeroize::Zeroizing;

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// To read what was released.
    Read,
    /// To send events, and to close the steps of counters that are advanced by hand.
    Ingest,
    /// Everything.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Read, Self::Ingest, Self::Admin];

    /// Whether a token of this role may do what needs `role`.
    #[must_use]
    pub fn allows(self, role: Self) -> bool {
        self == Self::Admin || self == role
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Ingest => "ingest",
            Self::Admin => "admin",
        })
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its public number.
    pub id: String,
    /// What it is for, in the operator's words.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// When it was made, in microseconds since 1970.
    pub created: i64,
    /// When it stops being valid.
    pub expires: Option<i64>,
}

/// All tokens.
#[derive(Clone, Default)]
pub(crate) struct Tokens {
    rows: Vec<TokenRow>,
}

/// A new token: how it is kept, and the bearer, which nobody is shown again.
pub(crate) fn draw(name: &str, role: Role, expires: Option<i64>, now: i64) -> Result<(TokenRow, String)> {
    let is_line = (1..=100).contains(&name.len()) && !name.chars().any(char::is_control);
    if !is_line {
        return Err(Error::bad("name", "1 to 100 bytes on one line", "another"));
    }
    if expires.is_some_and(|expires| expires <= now) {
        return Err(Error::bad("expires", "in the future", "a time that is over"));
    }
    let bytes = Zeroizing::new(random::<40>()?);
    let (id, secret) = (hexadecimal(&bytes[..8]), Zeroizing::new(hexadecimal(&bytes[8..])));
    let row = TokenRow {
        name: name.to_owned(),
        role: Role::ALL.iter().position(|known| *known == role).unwrap_or_default() as u8,
        hash: hash(&secret),
        created: now,
        expires,
        id: id.clone(),
    };
    Ok((row, format!("evt_{id}_{}", *secret)))
}

/// Bytes from the operating system. There is no fallback.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::system("the operating system gave no randomness", &error))?;
    Ok(bytes)
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash(secret: &str) -> [u8; 32] {
    blake3::derive_key("evertally ledger 2026 secret of a token", secret.as_bytes())
}

pub(crate) fn token_of(row: &TokenRow) -> Token {
    let role = Role::ALL.get(usize::from(row.role)).copied().unwrap_or(Role::Read);
    Token { id: row.id.clone(), name: row.name.clone(), role, created: row.created, expires: row.expires }
}

impl Tokens {
    pub(crate) fn rows(&self) -> &[TokenRow] {
        &self.rows
    }

    pub(crate) fn from_rows(rows: Vec<TokenRow>) -> Self {
        Self { rows }
    }

    pub(crate) fn add(&mut self, row: TokenRow) {
        self.rows.push(row);
    }

    /// Refuses to remove what is not there, and the last token that could make another.
    pub(crate) fn check_removal(&self, id: &str) -> Result<()> {
        let found = self.rows.iter().find(|row| row.id == id);
        let found = found.ok_or_else(|| Error::NotFound { what: "token", name: id.to_owned() })?;
        let lasts = |row: &TokenRow| token_of(row).role == Role::Admin && row.expires.is_none();
        if lasts(found) && self.rows.iter().filter(|row| lasts(row)).count() == 1 {
            return Err(Error::conflict(
                "this is the last admin token that does not expire: make another first",
            ));
        }
        Ok(())
    }

    pub(crate) fn remove(&mut self, id: &str) {
        self.rows.retain(|row| row.id != id);
    }

    /// The token of a bearer. Whether it has expired is for the caller to see.
    pub(crate) fn authenticate(&self, bearer: &str) -> Option<Token> {
        let (id, secret) = bearer.strip_prefix("evt_")?.split_once('_')?;
        let found = self.rows.iter().find(|row| row.id == id);
        // An unknown id is compared with something as well, so that it takes as long.
        let expected = blake3::Hash::from_bytes(found.map_or([0; 32], |row| row.hash));
        let is_it = expected == blake3::Hash::from_bytes(hash(secret));
        found.filter(|_| is_it).map(token_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_is_known_by_all_of_it() {
        let mut tokens = Tokens::default();
        let (row, bearer) = draw("first", Role::Ingest, Some(10), 5).unwrap();
        let id = row.id.clone();
        tokens.add(row);
        assert_eq!(
            tokens.authenticate(&bearer).map(|token| (token.role, token.expires)),
            Some((Role::Ingest, Some(10)))
        );
        let mut wrong = bearer.clone().into_bytes();
        *wrong.last_mut().unwrap() ^= 1;
        for wrong in [
            String::from_utf8(wrong).unwrap().as_str(),
            "",
            "evt_",
            "evt__",
            &bearer[4..],
            &format!("{bearer}0"),
        ] {
            assert!(tokens.authenticate(wrong).is_none(), "{wrong}");
        }
        assert!(tokens.check_removal("another").is_err());
        tokens.check_removal(&id).unwrap();
        tokens.remove(&id);
        assert!(tokens.authenticate(&bearer).is_none());
    }

    #[test]
    fn the_last_admin_token_stays() {
        let mut tokens = Tokens::default();
        let ids: Vec<String> = [None, None, Some(100)]
            .into_iter()
            .map(|expires| {
                let (row, _) = draw("admin", Role::Admin, expires, 0).unwrap();
                tokens.add(row.clone());
                row.id
            })
            .collect();
        tokens.check_removal(&ids[0]).unwrap();
        tokens.remove(&ids[0]);
        assert!(tokens.check_removal(&ids[1]).is_err());
        tokens.check_removal(&ids[2]).unwrap();
    }

    #[test]
    fn roles_allow_what_they_say() {
        let allowed = Role::ALL.map(|role| Role::ALL.map(|needed| role.allows(needed)));
        assert_eq!(allowed, [[true, false, false], [false, true, false], [true, true, true]]);
    }
}
