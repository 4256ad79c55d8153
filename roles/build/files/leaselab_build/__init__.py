"""What the build contract is made of; `build` beside this folder is the contract."""
