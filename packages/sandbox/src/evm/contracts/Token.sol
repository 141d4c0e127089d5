// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// An ERC-20 whose name, symbol and decimals are set after its code is placed at an address.
/// Anyone may mint: the chain is a simulation, and its exchanges need tokens to pay out.
contract Token {
    string public name;
    string public symbol;
    uint8 public decimals;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    function initialize(string calldata name_, string calldata symbol_, uint8 decimals_) external {
        require(bytes(name).length == 0, "initialized");
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function airdrop(address[] calldata to, uint256 value) external {
        for (uint256 i = 0; i < to.length; i++) {
            totalSupply += value;
            balanceOf[to[i]] += value;
            emit Transfer(address(0), to[i], value);
        }
    }

    /// Writes many transfers in a transaction, of rising amounts, so that no two are alike. It calls no other contract and settles the
    /// balances once, because a simulated chain takes long over calls inside calls.
    function multisend(address to, uint256 first, uint256 count) external {
        uint256 total = count * first + (count * (count - 1)) / 2;
        require(balanceOf[msg.sender] >= total, "ERC20: transfer amount exceeds balance");
        balanceOf[msg.sender] -= total;
        balanceOf[to] += total;
        for (uint256 i = 0; i < count; i++) emit Transfer(msg.sender, to, first + i);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    /// As in most tokens, nothing can be moved without an allowance, but zero is not more than an allowance of zero:
    /// a stranger can write a transfer of nothing into any wallet's history.
    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        require(allowed >= value, "ERC20: insufficient allowance");
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - value;
        move(from, to, value);
        return true;
    }

    function move(address from, address to, uint256 value) private {
        require(balanceOf[from] >= value, "ERC20: transfer amount exceeds balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}
